// The best of K runs as a pair: so that a search composes with all other steps. Claim:
// selection/CLAIM.md, section 5.
#pragma once

#include "absl/status/statusor.h"
#include "accountant/limits.h"
#include "accountant/mechanism/renyi_bound.h"
#include "accountant/pair/pair.h"

namespace dpledger::accountant::selection {

// Whether the privacy profile of one run is within reach.
bool HasPair(const BestOf& best);

// A pair that dominates the released run, for every order of the results by quality. It is tight
// where its δ is about `delta` > 0; far below it puts what is left at infinity.
absl::StatusOr<Pair> PairOf(const BestOf& best, double delta, const Limits& limits);

}  // namespace dpledger::accountant::selection
