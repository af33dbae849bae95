// A line laid where a given δ has its ε. Private to contour/.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "accountant/contour/line.h"
#include "accountant/contour/saddle.h"
#include "accountant/interval.h"

namespace dpledger::accountant::contour {

// Wider intervals than this are no answer.
inline constexpr double kUsefulGap = 1e-3;
// No other line is tried for less than this.
inline constexpr double kGoodGap = 1e-9;
// Where the search for the saddle starts, unless something is known.
inline constexpr double kUsualOrder = 4;

struct LaidLine {
  Line line;
  std::vector<Line::Terms> terms;  // of each step, if they were asked for
  Interval epsilon;                // ε of the δ it was laid for
  double guess;                    // within it
};

// Nothing where no line is within reach or none gives a useful interval. `order` is where the
// search starts, and is told where it ended. `room` as for Line::Through.
absl::StatusOr<std::optional<LaidLine>> LayForDelta(Tilting& tilting, double delta, double& order,
                                                    double room = 1, bool keep_terms = false);

}  // namespace dpledger::accountant::contour
