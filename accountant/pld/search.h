// Searches for the point at which a bound on δ passes a given value. Private to pld/.
#pragma once

#include <functional>

namespace dpledger::accountant::pld {

// The point at which the decreasing `excess` falls to 0 or below, from above: within `tolerance` of
// where it does if the search got that far, else `limit`. Secants from `guess`, kept in a bracket.
double FallsBelow(const std::function<double(double)>& excess, double guess, double slope,
                  double tolerance, double limit);

// A point below `top` at which `surely` holds, within 0.01 `tolerance` of where it ceases to if it
// does so once; 0 if it holds nowhere it was looked at. Its bound is good near one point only:
// walks down from the top until it holds, then up again.
double HoldsBelow(const std::function<bool(double)>& surely, double top, double tolerance);

}  // namespace dpledger::accountant::pld
