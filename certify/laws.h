// The losses of mechanisms with point masses and log-linear densities. CLAIM.md, section 5.
#pragma once

#include "certify/composition.h"

namespace dpledger::certify {

// Laplace noise of scale 1, on values that differ by `distance`.
Pair LaplacePair(const Ball& distance);
// Noise P(k) ∝ e^{-ak} on whole numbers that differ by `distance`.
Pair DiscreteLaplacePair(double a, uint64_t distance);
// Noise P(k) ∝ e^{-k²/2σ²} on whole numbers that differ by `distance`.
Enclosed DiscreteGaussianPair(double sigma, uint64_t distance);
// Of `buckets` answers a uniform one with probability `noise`, else the record's own: two records.
Pair RandomizedResponsePair(double noise, uint64_t buckets);
// A record's answer against a uniform one.
Pair RandomizedResponseAgainstUniform(double noise, uint64_t buckets);
// The most revealing mechanism that is (ε, δ)-DP.
Pair EpsilonDeltaPair(const Ball& epsilon, const Ball& delta);
// The supremum of all mechanisms of ε-bounded range.
Pair BoundedRangePair(const Ball& epsilon);
// The data themselves.
Pair Everything();

}  // namespace dpledger::certify
