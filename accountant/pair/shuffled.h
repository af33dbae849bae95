// Reports of many people, each made by the same local randomizer, without saying who sent which.
// Theorem, proof and rounding: mechanism/CLAIM.md, section 11.
#pragma once

#include <cstdint>

#include "accountant/pair/pair.h"
#include "accountant/pair/pairs.h"

namespace dpledger::accountant {

// An upper pair takes more people than these for these: fewer hide less.
inline constexpr uint64_t kGreatestPeople = 1'000'000'000;

// One of `people` >= 1 has another value. The reports' randomizer is local_epsilon-DP, >= 0. An
// upper pair dominates every such randomizer; a lower one is at most as revealing as one of them
// (randomized response among three values, for one person among two), and Nothing() where no proof
// is worth its time: for more than kGreatestPeople, and local_epsilon below 1e-12. At most 8192
// atoms.
Pair ShuffledPair(double local_epsilon, uint64_t people, Bound bound);

// What both pairs cost, about, in units of some nanoseconds.
double ShuffledWork(double local_epsilon, uint64_t people);

}  // namespace dpledger::accountant
