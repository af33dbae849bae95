// One number in place of a curve: the smallest μ for which a Gaussian mechanism of that μ (noise
// multiplier 1/μ, one step) is at least as revealing, over a range of δ, and how much that
// overstates. Claim: profile/CLAIM.md.
#pragma once

#include <vector>

#include "accountant/interval.h"

namespace dpledger::accountant::profile {

// δ at ε, the worse of both directions.
struct ProfilePoint {
  double epsilon;
  Interval delta;
};

struct GaussianFit {
  // Contains the smallest μ for which δ_μ(ε) >= δ(ε) over the points' ε and between. `upper` is the
  // one to report; it may be infinite.
  Interval mu;
  // Contains what the Gaussian of mu.upper overstates: the most, over priors e^ε : 1 for those ε,
  // by which an attacker's chance to tell rightly which of two inputs it was seems larger than it
  // is.
  Interval regret;
  // For every δ from least to greatest, the ε at which the Gaussian of mu.upper has it is at least
  // the true one.
  double least_delta;
  double greatest_delta;
  // Between this point and the next another would narrow `mu` most, or `regret`.
  size_t widest_mu = 0;
  size_t widest_regret = 0;
};

// `points` by increasing ε in [0, 700], at least two; δ of the last is surely at most least_delta.
GaussianFit FitGaussian(const std::vector<ProfilePoint>& points, double least_delta);

// The z with P(N > z) = p, from above and from below; p in [0, 1].
double NormalQuantileUp(double p);
double NormalQuantileDown(double p);

}  // namespace dpledger::accountant::profile
