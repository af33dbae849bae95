// ε and δ by one contour integral: the inverse Laplace transform of the composed privacy loss along
// a vertical line through the saddle, by the trapezoidal rule, whose error has a known sign and
// size. Two-sided, any δ, cost independent of the number of steps. Claim and derivation:
// contour/CLAIM.md.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "accountant/interval.h"
#include "accountant/limits.h"
#include "accountant/mechanism/composition.h"

namespace dpledger::accountant::contour {

// Nothing where the integral takes too many nodes (few effective steps, or absurd tails) or its
// bound does not close to 1e-3: another method must answer. Precondition: not non-private. δ in (0,
// 1); epsilon >= 0. DEADLINE_EXCEEDED and CANCELLED are the only errors.
absl::StatusOr<std::optional<Interval>> Epsilon(const Composition& composition, double delta,
                                                const Limits& limits);
absl::StatusOr<std::optional<Interval>> Delta(const Composition& composition, double epsilon,
                                              const Limits& limits);

// The same for one direction alone.
absl::StatusOr<std::optional<Interval>> EpsilonIn(Direction direction,
                                                  const Composition& composition, double delta,
                                                  const Limits& limits);
absl::StatusOr<std::optional<Interval>> DeltaIn(Direction direction, const Composition& composition,
                                                double epsilon, const Limits& limits);
// DeltaIn at each of `epsilons`, ascending, cheaply: neighbours share a line.
absl::StatusOr<std::vector<std::optional<Interval>>> DeltasIn(Direction direction,
                                                              const Composition& composition,
                                                              const std::vector<double>& epsilons,
                                                              const Limits& limits);

}  // namespace dpledger::accountant::contour
