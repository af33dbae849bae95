// Rounds of one Poisson-sampled Gaussian so few that a record is hardly ever in two of them: next
// to random allocation of the record to one of the rounds. That law is computed by itself, so
// nothing is lost where the whole run's δ is not far from its rate. Proof: pld/CLAIM.md, section 9.
#pragma once

#include <optional>

#include "absl/status/statusor.h"
#include "accountant/interval.h"
#include "accountant/limits.h"
#include "accountant/mechanism/composition.h"

namespace dpledger::accountant::pld {

// ε(δ) in one direction or, without one, the larger of both. nullopt where being in two samples is
// not negligible beside δ, where the allocation is out of reach, and for adding a record alone.
// δ in (0, 1). DEADLINE_EXCEEDED, CANCELLED.
absl::StatusOr<std::optional<Interval>> EpsilonOfRarelySampled(std::optional<Direction> direction,
                                                               const Composition& composition,
                                                               double delta, double relative_gap,
                                                               const Limits& limits);

}  // namespace dpledger::accountant::pld
