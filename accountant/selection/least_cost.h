// Which distribution of the number of runs costs least, for a wanted mean.
#pragma once

#include <functional>

#include "absl/status/statusor.h"
#include "accountant/mechanism/trials.h"

namespace dpledger::accountant::selection {

// The least found of truncated negative binomials over η, the Poisson and binomials, by the upper
// bound on ε that `cost` gives: nothing says that no other would be less. Precondition:
// CheckTrials. FAILED_PRECONDITION (reason NO_SOLUTION) when none meets at_most_one_probability.
absl::StatusOr<Trials> FindLeastCost(
    const LeastCostTrials& wanted,
    const std::function<absl::StatusOr<double>(const Trials&)>& cost);

}  // namespace dpledger::accountant::selection
