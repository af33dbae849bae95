// ε and δ in one direction where few jumps decide and one line does not close: δ as a sum over
// windows for the largest jump, each with its own line. Private to contour/; CLAIM.md, "By the
// largest jump".
#pragma once

#include <optional>

#include "absl/status/statusor.h"
#include "accountant/contour/steps_of.h"
#include "accountant/interval.h"
#include "accountant/limits.h"

namespace dpledger::accountant::contour {

// Contain ε(delta) and δ(epsilon) of steps in one direction, as EndsOfWidth gives them: the bounds
// above are those of steps.upper, the ones below of steps.lower. nullopt where the search finds no
// lines within reach. Preconditions as for contour::Epsilon.
absl::StatusOr<std::optional<Interval>> EpsilonByJumps(const Widths& steps, double delta,
                                                       const Limits& limits);
absl::StatusOr<std::optional<Interval>> DeltaByJumps(const Widths& steps, double epsilon,
                                                     const Limits& limits);

// DeltaByJumps where each error of CLAIM.md's table may cost about e^{log_share} of δ: valid
// whatever that is.
absl::StatusOr<std::optional<Interval>> DeltaByJumpsTo(double log_share, const Widths& steps,
                                                       double epsilon, const Limits& limits);

}  // namespace dpledger::accountant::contour
