// The dominating pairs of sampled mechanisms. Derivations: mechanism/CLAIM.md, section 3. The
// caller rounds parameters, as in pairs.h.
#pragma once

#include <cstdint>

#include "accountant/pair/pair.h"
#include "accountant/pair/pairs.h"

namespace dpledger::accountant {

// Poisson sampling of a mechanism with this pair, add or remove: the record joins with probability
// q in (0, 1]; without it the output has the law Q (Zhu, Dong, Wang 2022, thm. 11). Precondition:
// every piece's q has one term.
Pair PoissonSampledPair(double q, const Pair& pair);

// The same for a Gaussian of standard deviation one whose mean the record moves by `distance` > 0.
Pair SampledGaussianPair(double q, double distance);
// The same, with one record replaced by another that moves the mean the other way, by
// `opposite_distance`: (1-q)N(0) + qN(d) against (1-q)N(0) + qN(-e).
Pair OpposedGaussianPair(double q, double distance, double opposite_distance);

// A sample of fixed size without replacement, a share q of the records; one record is replaced,
// which moves the Gaussian's mean by `distance`.
Pair WithoutReplacementPair(double q, double distance);
// The same, one record zeroed. An upper pair is exact for one round in each direction; a lower one
// is what a mechanism shows that has records against the one that is zeroed.
Pair ZeroedWithoutReplacementPair(double q, double distance, Bound bound);
// `draws` with replacement from `population` records; one record is replaced, each copy of which
// moves the mean by `distance`.
Pair WithReplacementPair(uint64_t population, uint64_t draws, double distance, Bound bound);

// Poisson sampling with probability q from `population` records; a sample larger than `most` is cut
// to `most` records at random. One contribution moves the mean by `distance`. The neighbouring data
// set lacks the record (kAbsent), holds a null that is sampled like a record but contributes
// nothing (kNull), or holds another record (kOther).
inline constexpr uint64_t kGreatestPopulation = 10'000'000'000;
enum class Neighbour { kAbsent, kNull, kOther };
Pair TruncatedPoissonPair(uint64_t population, double q, uint64_t most, double distance,
                          Neighbour neighbour, Bound bound);

// A group of k records, each joining with probability q, against none of them. Or a record that is
// drawn k times with probability q, against none.
Pair GroupSampledGaussianPair(uint64_t group_size, double q, double distance, Bound bound);

// Builds the pair of a mechanism that runs one of several mechanisms, drawn with given weights, and
// reveals which: adds `part` to `mixture` with `weight` in (0, 1].
void AddWeighted(double weight, const Pair& part, Pair& mixture);

}  // namespace dpledger::accountant
