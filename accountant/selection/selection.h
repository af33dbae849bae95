// What releasing the best of K runs costs, by Rényi DP, for a random K (Papernot and Steinke 2021,
// arXiv 2110.03620). Claims and assumptions: selection/CLAIM.md.
#pragma once

#include "absl/status/statusor.h"
#include "accountant/accountant.h"
#include "accountant/rdp/rdp.h"

namespace dpledger::accountant::selection {

// The truncated negative binomial distribution D_{η,γ}: log(1/γ) for which its mean is `mean`,
// rounded up (a larger value costs more). η > -1, mean > 1.
double LogInverseGamma(double eta, double mean);

// An upper bound on the Rényi curve of the selection, given one run's.
absl::StatusOr<rdp::Curve> SelectionCurve(const rdp::Curve& one_run,
                                          const NegativeBinomialTrials& trials,
                                          const Limits& limits);
absl::StatusOr<rdp::Curve> SelectionCurve(const rdp::Curve& one_run, const PoissonTrials& trials,
                                          const Limits& limits);

}  // namespace dpledger::accountant::selection
