// ε by a line that is laid through the saddle of the ε that belongs to a given δ. Private to
// contour/.
#pragma once

#include <optional>

#include "absl/status/statusor.h"
#include "accountant/contour/saddle.h"
#include "accountant/interval.h"

namespace dpledger::accountant::contour {

// The relative gap above which an interval is not returned.
inline constexpr double kUsefulGap = 1e-3;
// The order at which the search for the saddle starts, unless an earlier line gives a better one.
inline constexpr double kUsualOrder = 4;

// Contains the ε of the given δ. nullopt where every line takes too many nodes or none gives a gap
// of at most kUsefulGap. `order` is where the search for the saddle starts; the call sets it to the
// line's order.
absl::StatusOr<std::optional<Interval>> EpsilonOnLine(Tilting& tilting, double delta,
                                                      double& order);

}  // namespace dpledger::accountant::contour
