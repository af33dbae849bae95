// One number in place of a curve: the smallest μ for which a Gaussian mechanism (noise multiplier
// 1/μ, one step) dominates over a range of δ, and by how much it overstates. Claim:
// profile/CLAIM.md.
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
  // Contains the smallest μ for which δ_μ(ε) >= δ(ε) for every ε from the first point's to the
  // last's. Report `upper`; it may be infinite.
  Interval mu;
  // Contains the regret of the Gaussian of mu.upper: the most, over prior odds e^ε : 1 for those ε,
  // by which it overstates an attacker's chance to tell rightly which of two inputs it was.
  Interval regret;
  // For every δ in [least_delta, greatest_delta], the ε of the Gaussian of mu.upper is at least the
  // true ε.
  double least_delta;
  double greatest_delta;
  // Index of the point behind which one more point would narrow `mu` (`regret`) most.
  size_t widest_mu = 0;
  size_t widest_regret = 0;
};

// `points` by increasing ε in [0, 700], at least two; the last one's delta.upper is at most
// least_delta.
GaussianFit FitGaussian(const std::vector<ProfilePoint>& points, double least_delta);

// Bounds from above and from below on the z with P(N > z) = p; p in [0, 1].
double NormalQuantileUp(double p);
double NormalQuantileDown(double p);

}  // namespace dpledger::accountant::profile
