// One Poisson-sampled Gaussian step in closed form, and when ε is 0 without a doubt. Claim and
// error budget: gaussian/CLAIM.md, "One sampled step".
#pragma once

#include <optional>

#include "accountant/interval.h"
#include "accountant/mechanism/composition.h"

namespace dpledger::accountant::gaussian {

// A single run of a single step, sampled or not.
bool AppliesOnce(const Composition& composition);

// Precondition: AppliesOnce. δ in (0, 1), epsilon >= 0. Without a direction the larger of the two,
// which is remove's. Bounds rounded outward; as tight as those of gaussian.h.
Interval EpsilonOnce(const Composition& composition, std::optional<Direction> direction,
                     double delta);
Interval DeltaOnce(const Composition& composition, std::optional<Direction> direction,
                   double epsilon);

// At least δ(0), in either direction: the sum of the steps' total variations. Where it is at most
// δ, ε is 0. Precondition: only Gaussians.
double TotalVariationUp(const Composition& composition);

}  // namespace dpledger::accountant::gaussian
