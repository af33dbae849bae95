// What sampling does to pairs. Derivations: mechanism/CLAIM.md, section 3. Rounding of parameters
// is the caller's, as in pairs.h.
#pragma once

#include <cstdint>

#include "accountant/mechanism/pair.h"
#include "accountant/mechanism/pairs.h"

namespace dpledger::accountant {

// The record joins with probability q in (0, 1]; without it the mechanism's law is the pair's Q.
// Add or remove (Zhu, Dong, Wang 2022, thm. 11). Precondition: one term in every piece's q.
Pair PoissonSampledPair(double q, const Pair& pair);

// Gaussian of standard deviation one, the record moves its mean by `distance` > 0.
Pair SampledGaussianPair(double q, double distance);
// The same where one record is replaced by another whose contribution is the opposite: (1-q)N(0) +
// qN(d) against (1-q)N(0) + qN(-e).
Pair OpposedGaussianPair(double q, double distance, double opposite_distance);

// A sample of fixed size without replacement, one record replaced, the Gaussian's mean moved by
// `distance`.
Pair WithoutReplacementPair(double q, double distance);
// `draws` with replacement from `population` records, one replaced; `distance` of one copy.
Pair WithReplacementPair(uint64_t population, uint64_t draws, double distance, Bound bound);

// Poisson sampling with probability q from `population` records, samples cut at random to `most` of
// them; `distance` of one contribution from none. The neighbour lacks the record, or holds a null
// that contributes nothing but is sampled like a record, or another record.
inline constexpr uint64_t kGreatestPopulation = 10'000'000'000;
enum class Neighbour { kAbsent, kNull, kOther };
Pair TruncatedPoissonPair(uint64_t population, double q, uint64_t most, double distance,
                          Neighbour neighbour, Bound bound);

// A group of k records, each joining with probability q, against none of them.
Pair GroupSampledGaussianPair(uint64_t group_size, double q, double distance, Bound bound);

// The pair of a mechanism that is one of several, drawn with these weights, which one it was being
// known: adds `part` to `mixture` with `weight` in (0, 1].
void AddWeighted(double weight, const Pair& part, Pair& mixture);

}  // namespace dpledger::accountant
