// ε and δ by one contour integral: the inverse Laplace transform of the composed privacy loss along
// a vertical line through the saddle, by the trapezoidal rule, whose error has a known sign and
// size. The bounds are two-sided, for any δ; the cost does not depend on the number of steps. Claim
// and derivation: contour/CLAIM.md.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "accountant/interval.h"
#include "accountant/limits.h"
#include "accountant/mechanism/composition.h"

namespace dpledger::accountant::contour {

// Whether the contour knows every step: Poisson-sampled and unsampled Gaussians, and beside them
// pairs of point masses and of densities whose logarithm is linear. (It is the Gaussians that make
// a line end.)
bool Applies(const Composition& composition);

// The contour's effort. If one line takes too many nodes (few effective steps, or very heavy
// tails), δ may be split by the size of the largest jump (ladder.h). That takes some tens of
// milliseconds, and up to Limits::max_jump_work to find that no line closes.
enum class Effort { kOneLine, kByJumps };

using Found = absl::StatusOr<std::optional<Interval>>;

// In one direction or, without one, the larger of both. nullopt where no line closes: another
// method must answer. It may answer more narrowly, too, where the interval's relative gap is above
// 1e-3. Precondition: Applies(composition). δ in (0, 1); epsilon >= 0. DEADLINE_EXCEEDED and
// CANCELLED are the only errors.
Found Epsilon(const Composition& composition, double delta, const Limits& limits,
              std::optional<Direction> direction = std::nullopt, Effort effort = Effort::kByJumps);
Found Delta(const Composition& composition, double epsilon, const Limits& limits,
            std::optional<Direction> direction = std::nullopt, Effort effort = Effort::kByJumps);

// Delta in one direction at each of `epsilons`, which ascend, on lines that are soon laid:
// neighbouring ε share one, with gaps up to 1e-5. nullopt from the first ε on at which none closes.
absl::StatusOr<std::vector<std::optional<Interval>>> DeltasIn(Direction direction,
                                                              const Composition& composition,
                                                              const std::vector<double>& epsilons,
                                                              const Limits& limits);

}  // namespace dpledger::accountant::contour
