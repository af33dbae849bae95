// The dominating pairs of the mechanisms a ledger can hold. Derivations: mechanism/CLAIM.md,
// sections 1 and 2.
//
// The caller rounds parameters that come from floating-point arithmetic: towards more distance or
// more probability for an upper pair, towards less for a lower one. For ε > 600, where e^ε leaves
// the range of doubles, an upper pair is Everything() and a lower one Pair::Nothing().
#pragma once

#include <cstdint>
#include <vector>

#include "accountant/pair/pair.h"

namespace dpledger::accountant {

enum class Bound { kUpper, kLower };

// The record is revealed: every loss is infinite.
Pair Everything();

// Laplace noise of scale 1 on a value that moves by `distance` > 0; exact.
Pair LaplacePair(double distance, Bound bound);

// Noise P(k) ∝ e^{-a|k|} on an integer that moves by `sensitivity`, at most kGreatestSensitivity;
// exact.
inline constexpr uint64_t kGreatestSensitivity = 1 << 16;
Pair DiscreteLaplacePair(double a, uint64_t sensitivity, Bound bound);

// Noise P(k) ∝ e^{-k²/2σ²} on an integer that moves by `sensitivity`. sigma <= kGreatestSigma,
// sensitivity at most kGreatestSensitivity; exact but for outcomes of probability below 1e-290.
inline constexpr double kGreatestSigma = 4096;
Pair DiscreteGaussianPair(double sigma, uint64_t sensitivity, Bound bound);

// k-ary randomized response that answers uniformly at random with probability `noise`: the answers
// of two records, and one record's answer against a uniformly random one.
Pair RandomizedResponsePair(double noise, uint64_t buckets);
Pair RandomizedResponseAgainstUniform(double noise, uint64_t buckets);

// The most revealing mechanism that is (ε, δ)-DP (Kairouz, Oh, Viswanath 2015, arXiv 1311.0776,
// thm. 3.3).
Pair EpsilonDeltaPair(double epsilon, double delta, Bound bound);

// Dominates every mechanism of ε-bounded range.
Pair BoundedRangePair(double epsilon);

// The index of the greatest of independently noised scores, e^ε at most between neighbours, noise
// of Laplace or one-sided exponential law (permute-and-flip): dominates them all; exact for
// exponential noise.
Pair NoisyMaxPair(double epsilon);

// A Gaussian of standard deviation one whose mean is distances[i] >= 0 with probability weights[i],
// against mean zero. If the weights sum to less than one, the rest has an infinite loss in an upper
// pair, and mean zero in a lower one.
Pair MixturePair(const std::vector<double>& distances, const std::vector<double>& weights,
                 double relative_error, Bound bound);

}  // namespace dpledger::accountant
