// Epochs of random allocation whose neighbours differ in a replaced record: their profile at one ε
// after the other (allocation/replaced.h). Private to pld/. Derivation: pld/CLAIM.md, section 8.
#pragma once

#include <optional>

#include "absl/status/statusor.h"
#include "accountant/interval.h"
#include "accountant/limits.h"
#include "accountant/mechanism/composition.h"
#include "accountant/pair/pair.h"
#include "accountant/pair/profile_pair.h"
#include "accountant/pld/epoch_laws.h"

namespace dpledger::accountant::pld {

// Pairs of point masses between which the epoch lies; both are symmetric.
struct ReplacedPairs {
  Pair upper;   // dominates the epoch: chords between values of its profile from above
  Pair lower;   // dominated by it: what the best tests at the same ε tell apart
  double work;  // as counted by work.h, of what was not in `laws` yet
};

// The accuracy that is wanted of the pairs. None of it enters a bound.
struct Wanted {
  double spacing;  // of values of the profile, in ε: chords add as if they were so far apart
  double mesh;     // of the laws behind each value
  double tail;     // the δ down to which there are values
  std::optional<double> tilt;  // of the composition's saddle, where that is known (pld/CLAIM.md, 4)
};

// Both coarser where they would take more than `most_work`. RESOURCE_EXHAUSTED if a round's loss is
// too large; DEADLINE_EXCEEDED, CANCELLED.
enum class Sides { kBoth, kUpper };  // kUpper: `lower` shows nothing
absl::StatusOr<ReplacedPairs> PairsOf(const AllocatedGaussian& epoch, Sides sides,
                                      const Wanted& wanted, double most_work, EpochLaws& laws,
                                      const Limits& limits);

// The standard deviation of the epoch's loss, about.
double SpreadOf(const AllocatedGaussian& epoch);

// ε(δ) and δ(ε) of one epoch alone, without a loss grid. `value` as of pld::Bounds; nullopt where
// laws are out of reach. The only errors are DEADLINE_EXCEEDED (before the first interval) and
// CANCELLED.
absl::StatusOr<std::optional<Interval>> EpsilonOfOne(const AllocatedGaussian& epoch, double delta,
                                                     double relative_gap, EpochLaws& laws,
                                                     const Limits& limits);
absl::StatusOr<std::optional<Interval>> DeltaOfOne(const AllocatedGaussian& epoch, double epsilon,
                                                   double relative_gap, EpochLaws& laws,
                                                   const Limits& limits);

}  // namespace dpledger::accountant::pld
