// Converts a Rényi divergence of one order to an ε for a δ, or a δ for an ε: the least of three
// valid bounds. The theorems are in rdp/CLAIM.md.
#pragma once

namespace dpledger::accountant::rdp {

// An ε with δ(ε) <= failure + e^{log_delta} in every direction in which R(order) <= divergence
// holds for a part of mass at least 1 - failure (see ApproximateCurve). It may be negative: then ε
// = 0 holds too. Rounded up; infinite if the divergence is. order > 1, log_delta <= 0 finite,
// failure in [0, 1).
double EpsilonAt(double divergence, double order, double log_delta, double failure);

// A value of log_delta for which EpsilonAt(…) <= epsilon, and so a bound on log(δ(epsilon) -
// failure); at most 0. epsilon >= 0.
double LogDeltaAt(double divergence, double order, double epsilon, double failure);

}  // namespace dpledger::accountant::rdp
