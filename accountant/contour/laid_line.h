// A line laid through the saddle of the ε that belongs to a given δ. Private to contour/.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "accountant/contour/line.h"
#include "accountant/contour/saddle.h"
#include "accountant/interval.h"

namespace dpledger::accountant::contour {

// The relative gap above which an interval is not returned.
inline constexpr double kUsefulGap = 1e-3;
// The relative gap at or below which no further line is tried.
inline constexpr double kGoodGap = 1e-9;
// The order at which the search for the saddle starts, unless an earlier line gives a better one.
inline constexpr double kUsualOrder = 4;

struct LaidLine {
  Line line;
  std::vector<Line::Terms> terms;  // of each step, if keep_terms
  Interval epsilon;                // contains the ε of the given δ
  double guess;                    // the line's estimate of ε
};

// nullopt where every line takes too many nodes or none gives a gap of at most kUsefulGap. `order`
// is where the search for the saddle starts; the call sets it to the line's order. `room` as for
// Line::Through.
absl::StatusOr<std::optional<LaidLine>> LayForDelta(Tilting& tilting, double delta, double& order,
                                                    double room = 1, bool keep_terms = false);

}  // namespace dpledger::accountant::contour
