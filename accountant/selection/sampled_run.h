// A composition on a Poisson sample of the records as a pair: all of it sees the same sample, as
// where a cohort is drawn first and batches from it then. Claim: mechanism/CLAIM.md, section 3.
#pragma once

#include "absl/status/statusor.h"
#include "accountant/limits.h"
#include "accountant/mechanism/renyi_bound.h"
#include "accountant/pair/pair.h"

namespace dpledger::accountant::selection {

struct PairsAround {
  Pair upper, lower;
};

// Pairs between which the run lies: a chord, and tangents, of its profile. They are tight where its
// δ is about `delta` > 0; far below it the upper one puts what is left at infinity.
absl::StatusOr<PairsAround> PairsOf(const SampledRun& sampled, double delta, const Limits& limits);

}  // namespace dpledger::accountant::selection
