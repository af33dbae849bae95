// Finds a distribution of the number of runs that has a wanted mean and a low cost.
#pragma once

#include <functional>

#include "absl/status/statusor.h"
#include "accountant/mechanism/trials.h"

namespace dpledger::accountant::selection {

// The cheapest distribution found among truncated negative binomials over η, the Poisson and
// binomials, by the upper bound on ε that `cost` gives. A cheaper one may exist. Precondition:
// CheckTrials. FAILED_PRECONDITION (reason NO_SOLUTION) when none meets at_most_one_probability.
absl::StatusOr<Trials> FindLeastCost(
    const LeastCostTrials& wanted,
    const std::function<absl::StatusOr<double>(const Trials&)>& cost);

}  // namespace dpledger::accountant::selection
