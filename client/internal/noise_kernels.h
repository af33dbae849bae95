// Rounded Gaussians from pairs of random words, at the speed of the widest vector registers of the
// machine the program runs on, with a certificate for each.
//
// 1. A pair is decided only if the real-number formula of docs/formats.md, section 3.4, rounds to
//    the same integers for every continuation of its bits. Which pairs are decided may differ
//    between instruction sets; what a decided pair holds does not.
// 2. A value is within kNoiseErrorBound sigma of the true one (client/CLAIM.md, line N), and
//    decided if no half-integer is that near.
//
// Assumes round-to-nearest. Thread safe.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dpledger::client::internal {

inline constexpr double kNoiseErrorBound = 0x1p-46;

// An upper bound for the probability that a pair is left open.
double OpenPairShare(int64_t sigma);

// Pairs come in multiples of this.
inline constexpr size_t kPairStep = 8;

// noise[2p], noise[2p + 1] = the rounded pair of words[2p], words[2p + 1], or 0 where undecided.
// The indices p of the undecided ones go to `undecided`, which has room for `pairs`; returns how
// many. `noise` may be `words`. 1 <= sigma <= 2^40.
size_t RoundPairs(const uint64_t* words, size_t pairs, int64_t sigma, int64_t* noise,
                  uint32_t* undecided);

// sums[i] += noise[i], modulo 2^64.
void AddNoise(const int64_t* noise, size_t size, int64_t* sums);

// released[i] = grid (sums[i] + noise[i]), in double, rounded to float.
void AddAndScale(const int64_t* sums, const int64_t* noise, size_t size, double grid,
                 float* released);

}  // namespace dpledger::client::internal
