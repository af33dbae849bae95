// From a Rényi divergence of one order to an ε for a δ, or a δ for an ε: the least of three bounds,
// each valid by itself. The theorems are in rdp/CLAIM.md.
#pragma once

namespace dpledger::accountant::rdp {

// An ε (may be negative: then 0 will do) such that δ(ε) <= failure + e^{log_delta} in the direction
// or directions in which R(order) <= divergence holds for a part of mass at least 1 - failure; see
// ApproximateCurve. Rounded up; infinite where the divergence is.
// order > 1, log_delta <= 0 finite, failure in [0, 1).
double EpsilonAt(double divergence, double order, double log_delta, double failure);

// A value of log_delta for which EpsilonAt(…) <= epsilon, and so a bound on log(δ(epsilon) -
// failure); at most 0. epsilon >= 0.
double LogDeltaAt(double divergence, double order, double epsilon, double failure);

}  // namespace dpledger::accountant::rdp
