// Epochs of random allocation, discretised for the loss grid: laws of the epoch's ratio
// (allocation/ratio_law.h) from both sides. Derivation: pld/CLAIM.md, section 6.
#pragma once

#include <optional>

#include "absl/status/statusor.h"
#include "accountant/limits.h"
#include "accountant/mechanism/composition.h"
#include "accountant/pair/pair.h"
#include "accountant/pld/discrete_pair.h"
#include "accountant/pld/epoch_laws.h"

namespace dpledger::accountant::pld {

// Of the excess variance that discretisation adds to an epoch's loss, the grid of losses adds one
// part, and the laws' own grids kLawsShare: they cost more.
inline constexpr double kLawsShare = 16;
// By how much more than a loss grid an epoch's discretisation adds, in all.
double ExcessOf(const AllocatedGaussian& allocation);

struct Allocation {
  DiscretePair upper;  // dominates the epoch, in both directions
  DiscretePair lower;  // dominated by the epoch; no mass at all where nothing is known
  double work = 0;     // of laws that were not there yet
};

// Pairs on a grid of losses of the given step. tail: mass that may be cut on either side. `tilt`:
// the saddle's, if it is known. `among`: the number of kinds of epochs that share the work that the
// limits allow.
// RESOURCE_EXHAUSTED if that takes more than max_atoms points, or a round's loss is too large;
// DEADLINE_EXCEEDED, CANCELLED.
absl::StatusOr<Allocation> Allocate(const AllocatedGaussian& allocation, double step, double tail,
                                    std::optional<double> tilt, size_t max_atoms, size_t among,
                                    EpochLaws& laws, const Limits& limits);

// The greatest step of a loss grid on which the epoch's shape shows: that of the coarsest laws.
double CoarsestStep(const AllocatedGaussian& allocation);

// A coarse pair that dominates the epoch, for a first look.
absl::StatusOr<Pair> CoarsePair(const AllocatedGaussian& allocation, double tail, EpochLaws& laws,
                                const Limits& limits);

}  // namespace dpledger::accountant::pld
