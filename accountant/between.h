// Two compositions of exact pairs, between which a composition lies. Private to the accountant's
// front door (accountant.h).
#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "accountant/limits.h"
#include "accountant/mechanism/composition.h"

namespace dpledger::accountant {

// Whether all that is known of each step is a pair of distributions, up to rounding.
bool IsExact(const Composition& composition);

// Whether Rényi curves are all that bounds the composition from above.
bool IsCurvesAlone(const Composition& composition);

// The same composition with pairs around each run on a sample, in place of its curve. As of Above.
absl::StatusOr<Composition> WithPairsOfSamples(const Composition& composition, double delta,
                                               const Limits& limits);

// Dominates the composition and is exact. It is tight where its δ is about `delta` > 0, and puts a
// part in 10^9 of that at infinity.
absl::StatusOr<Composition> Above(const Composition& composition, double delta,
                                  const Limits& limits);

// Dominates the composition that `above` dominates. Each kind of rounds on samples of fixed size
// stands in blocks, and many rounds in a block show less than each round by itself. nullopt if
// there are no such rounds, or no block is within reach. The blocks put a part in 10^4 of `delta`
// at infinity.
absl::StatusOr<std::optional<Composition>> InBlocks(const Composition& above, double delta,
                                                    const Limits& limits);

// Whether a step is a noisy maximum with Laplace noise, whose Rényi curve is far above those of the
// choices that it may be; and the composition with the curves of these, whose order tells which
// choice is best.
bool HasLooseChoices(const Composition& composition);
Composition WithCurvesOfChoices(Composition composition);

// An exact composition below another: with probability at least `share`, whatever the data, the
// other's outputs show at least as much as those of `dominated`.
struct LowerPart {
  Composition dominated;
  double share = 1;  // in (0, 1]
  // Steps of which only a Rényi curve is known are not in it.
  bool leaves_out_curves = false;
};
// Best where the moment of `order` > 1 decides; any number is safe.
LowerPart Below(const Composition& composition, double order);

// Parts of `below`, what Below says of the composition, for where all of it shows nothing: without
// searches, if they make it hold only with some probability; without random allocations, which may
// ask for a finer mesh than the others leave work for; and each kind of step alone. The composition
// says at least as much as any of them.
std::vector<LowerPart> PartsBelow(const Composition& composition, LowerPart below, double order);

}  // namespace dpledger::accountant
