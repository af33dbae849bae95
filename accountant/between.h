// Two compositions of exact pairs, between which a composition lies. Private to the accountant's
// front door (accountant.h).
#pragma once

#include <cstddef>

#include "absl/status/statusor.h"
#include "accountant/limits.h"
#include "accountant/mechanism/composition.h"

namespace dpledger::accountant {

// Whether all that is known of each step is a pair of distributions, up to rounding.
bool IsExact(const Composition& composition);

// Whether Rényi curves are all that bounds the composition from above.
bool IsCurvesAlone(const Composition& composition);

// Kinds of rounds on samples of fixed size, of which many show less than each by itself; and the
// composition in which each stands by itself.
size_t KindsOfFixedSize(const Composition& composition);
Composition RoundByRound(Composition composition);

// Dominates the composition and is exact. It is tight where its δ is about `delta` > 0, and puts a
// part in 10^9 of that at infinity (in 10^4 where there are rounds on samples of fixed size).
absl::StatusOr<Composition> Above(const Composition& composition, double delta,
                                  const Limits& limits);

// What is exact and below a composition: with probability at least `share`, whatever the data, the
// outputs say at least as much as those of `dominated`.
struct LowerPart {
  Composition dominated;
  double share = 1;  // in (0, 1]
  // Steps of which only a Rényi curve is known are not in it.
  bool leaves_out_curves = false;
};
LowerPart Below(const Composition& composition);

}  // namespace dpledger::accountant
