// Mechanisms of which only (ε, δ) are stated: the worst of them gives everything away with
// probability δ, and else is randomised response (Kairouz, Oh, Viswanath 2015, arXiv 1311.0776).
// Its infinite losses have exactly mass δ, which no grid of losses can say: asked at that very δ,
// it would answer infinity. Claim: mechanism/CLAIM.md, section 6.
#pragma once

#include <optional>

#include "accountant/interval.h"
#include "accountant/mechanism/composition.h"

namespace dpledger::accountant {

// The stated guarantee, if the composition is one run of such a mechanism and nothing else.
std::optional<EpsilonDelta> StatedAlone(const Composition& composition);

// inf{ε >= 0 : δ(ε) <= delta} and δ(epsilon) of the worst such mechanism, within a few roundings;
// the first is exactly stated.epsilon at delta = stated.delta, and infinite below it.
Interval EpsilonOfStated(const EpsilonDelta& stated, double delta);
Interval DeltaOfStated(const EpsilonDelta& stated, double epsilon);

// An upper bound on ε at `delta` of a composition whose losses are finite but for what its stated
// mechanisms give away, if that has at most mass `delta`; else infinity.
double LossBesideStated(const Composition& composition, std::optional<Direction> direction,
                        double delta);

}  // namespace dpledger::accountant
