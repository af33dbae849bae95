// One epoch of random allocation: t rounds of a Gaussian mechanism, each record in one of them,
// drawn uniformly. Under Q, the epoch's likelihood ratio P/Q is the mean of t independent ratios of
// one round. It is discretised from both sides on a grid of its logarithm. Derivation:
// pld/CLAIM.md, section 6.
#pragma once

#include <cstddef>

#include "absl/status/statusor.h"
#include "accountant/limits.h"
#include "accountant/mechanism/composition.h"
#include "accountant/pld/discrete_pair.h"

namespace dpledger::accountant::pld {

struct Allocation {
  DiscretePair upper;  // dominates the epoch, in both directions
  DiscretePair lower;  // dominated by the epoch
};

// Grid points are multiples of `step`; where using all of them would take too long, only every n-th
// holds mass. tail: mass that may be cut on either side. RESOURCE_EXHAUSTED if that takes more than
// max_atoms points; DEADLINE_EXCEEDED, CANCELLED.
absl::StatusOr<Allocation> Allocate(const AllocatedGaussian& allocation, double step, double tail,
                                    size_t max_atoms, const Limits& limits);

}  // namespace dpledger::accountant::pld
