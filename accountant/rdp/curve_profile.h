// The pair that a composition's Rényi curves imply by way of its privacy profile, so that steps
// known by a curve alone compose with all others. Claim: rdp/CLAIM.md, "Curves beside pairs".
#pragma once

#include "absl/status/statusor.h"
#include "accountant/limits.h"
#include "accountant/mechanism/composition.h"

namespace dpledger::accountant::rdp {

// The composition with one pair in place of all its curves: the pair that the sum of the curves
// implies, with nothing as its lower pair. Of δ it leaves `negligible` > 0 at infinity. The
// composition itself where it has no curves.
absl::StatusOr<Composition> WithPairForCurves(const Composition& composition, double negligible,
                                              const Limits& limits);

}  // namespace dpledger::accountant::rdp
