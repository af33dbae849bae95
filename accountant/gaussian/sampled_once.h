// One Poisson-sampled Gaussian step in closed form, and a test for ε = 0. Claim and error budget:
// gaussian/CLAIM.md, "One sampled step".
#pragma once

#include <optional>

#include "accountant/interval.h"
#include "accountant/mechanism/composition.h"

namespace dpledger::accountant::gaussian {

// Whether the composition is one run of one Gaussian step, sampled or not.
bool AppliesOnce(const Composition& composition);

// Precondition: AppliesOnce. δ in (0, 1), epsilon >= 0. Without a direction the larger of the two,
// which is remove's. Bounds rounded outward; as tight as those of gaussian.h.
Interval EpsilonOnce(const Composition& composition, std::optional<Direction> direction,
                     double delta);
Interval DeltaOnce(const Composition& composition, std::optional<Direction> direction,
                   double epsilon);

// An upper bound on δ(0) in either direction: the sum of the steps' total variation distances. ε is
// 0 at every δ at or above it. Precondition: only Gaussians.
double TotalVariationUp(const Composition& composition);

}  // namespace dpledger::accountant::gaussian
