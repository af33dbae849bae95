// Two compositions of exact pairs, between which a composition lies. Private to the accountant's
// front door (accountant.h).
#pragma once

#include "absl/status/statusor.h"
#include "accountant/limits.h"
#include "accountant/mechanism/composition.h"

namespace dpledger::accountant {

// Whether all that is known of each step is a pair of distributions, up to rounding.
bool IsExact(const Composition& composition);

// Whether a Rényi curve is all that is known of some step, or of every step.
bool HasCurvesAlone(const Composition& composition);
bool IsCurvesAlone(const Composition& composition);

// Dominates the composition and is exact. It is tight where its δ is about `delta` > 0, and puts a
// part in 10^9 of that at infinity.
absl::StatusOr<Composition> Above(const Composition& composition, double delta,
                                  const Limits& limits);

// Is dominated by the composition and is exact.
Composition Below(const Composition& composition);

}  // namespace dpledger::accountant
