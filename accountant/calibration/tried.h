// What a search has tried, and where its values let it expect the target. Private to calibration/;
// no bound rests on it.
#pragma once

#include <optional>
#include <vector>

namespace dpledger::accountant {

// Where a value was tried: y is log x, turned so that ε falls with it.
struct Tried {
  double y, log_epsilon;
};

// By how much log ε falls with y there, of the two nearest points; 0 where that is not known.
double FallAt(const std::vector<Tried>& points, double y);

// Where log ε is expected to be `aim` between `missed`, above it, and `safe`, below it at a greater
// y: a parabola through both and the point of `all` that is nearest to either, y over log ε; else
// the chord. Moved towards the end that is farther away, by about what it may be off and by less
// than half of `tolerance` at least, so that a bracket closes from both sides, and kept inside.
// Nothing if log ε does not fall from one to the other by a finite amount.
std::optional<double> Meets(const Tried& safe, const Tried& missed, const std::vector<Tried>& all,
                            double aim, double tolerance);

}  // namespace dpledger::accountant
