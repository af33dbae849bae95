// The values that a search has tried, and a guess at the value that meets the target. Private to
// calibration/; no bound rests on it.
#pragma once

#include <optional>
#include <vector>

namespace dpledger::accountant {

// A value that was tried: y is log x, or -log x, so that ε falls with y.
struct Tried {
  double y, log_epsilon;
};

// By how much log ε falls with y there, of the two nearest points; 0 where that is not known.
double FallAt(const std::vector<Tried>& points, double y);

// The y at which log ε is expected to be `aim`, between `missed`, with a log ε above it, and
// `safe`, with one below it at a greater y. A parabola through both and the point of `all` that is
// nearest to either says where, y over log ε; else the chord. The result is then shifted towards
// the farther end by the expected error, at least 0.4 of the lesser of `tolerance` and the
// bracket's width, so that a bracket closes from both sides, and clamped into the bracket. Nothing
// unless log ε falls from `missed` to `safe` by a finite amount.
std::optional<double> Meets(const Tried& safe, const Tried& missed, const std::vector<Tried>& all,
                            double aim, double tolerance);

}  // namespace dpledger::accountant
