// The greatest privacy loss that a composition can have: ε at δ = 0, and the point from which on δ
// is 0. Claim: mechanism/CLAIM.md, section 6.
#pragma once

#include <optional>

#include "accountant/interval.h"
#include "accountant/mechanism/composition.h"

namespace dpledger::accountant {

// inf{ε >= 0 : δ(ε) = 0}, in one direction or, without one, the larger of both. Infinite for noise
// with tails like a Gaussian's. Bounds are rounded outward, relatively about 1e-14 for pairs of
// point masses; the lower one is 0 where nothing is proved below. Precondition: !non_private.
Interval GreatestLoss(const Composition& composition, std::optional<Direction> direction);

}  // namespace dpledger::accountant
