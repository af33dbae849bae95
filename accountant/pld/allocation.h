// One epoch of random allocation: t rounds of a Gaussian mechanism, each record in one of them,
// drawn uniformly. Its ratio P/Q is the mean of t independent ratios of one round, under Q;
// discretised from both sides on a grid of its logarithm. Derivation: pld/CLAIM.md, section 6.
#pragma once

#include <cstddef>

#include "absl/status/statusor.h"
#include "accountant/limits.h"
#include "accountant/mechanism/composition.h"
#include "accountant/pld/discrete_pair.h"

namespace dpledger::accountant::pld {

struct Allocation {
  DiscretePair upper;  // at least as revealing as an epoch, in both directions
  DiscretePair lower;  // at most
};

// Points at multiples of `step`, of which only every n-th may hold mass where all of them would
// take too long. tail: mass that may be cut on either side. RESOURCE_EXHAUSTED if it would need
// more than max_atoms points; DEADLINE_EXCEEDED, CANCELLED.
absl::StatusOr<Allocation> Allocate(const AllocatedGaussian& allocation, double step, double tail,
                                    size_t max_atoms, const Limits& limits);

}  // namespace dpledger::accountant::pld
