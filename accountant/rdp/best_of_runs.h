// The Rényi DP cost of releasing the best of K runs, for a random K (Papernot and Steinke 2021,
// arXiv 2110.03620). Claims and assumptions: selection/CLAIM.md.
#pragma once

#include "absl/status/statusor.h"
#include "accountant/limits.h"
#include "accountant/mechanism/trials.h"
#include "accountant/rdp/rdp.h"

namespace dpledger::accountant::rdp {

// An upper bound on the Rényi curve of the selection, given one run's.
absl::StatusOr<Curve> BestOfRuns(const Curve& one_run, const NegativeBinomialTrials& trials,
                                 const Limits& limits);
absl::StatusOr<Curve> BestOfRuns(const Curve& one_run, const PoissonTrials& trials,
                                 const Limits& limits);

}  // namespace dpledger::accountant::rdp
