// Rounded Gaussians from pairs of random words, at the speed of the widest vector registers of the
// machine the program runs on, with a certificate for each; and geometric skips from single words,
// the fast path of client/poisson_sampler.h.
//
// 1. A pair is decided only if the real-number formula of docs/formats.md, section 3.4, rounds to
//    the same integers for every continuation of its bits. Which pairs are decided may differ
//    between instruction sets; what a decided pair holds does not.
// 2. A value is within kNoiseErrorBound sigma of the true one (client/CLAIM.md, line N), and
//    decided if no half-integer is that near.
// 3. A skip is floor(ln U / ln(1 - q)) for all infinite bit strings U that begin with its word, or
//    marked as undecided (line V): what is computed with is no part of the result.
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

// sums[i] += addends[i], modulo 2^64.
void AddModulo(const int64_t* addends, size_t size, int64_t* sums);

// released[i] = grid (sums[i] + noise[i]), in double, rounded to float.
void AddAndScale(const int64_t* sums, const int64_t* noise, size_t size, double grid,
                 float* released);

// A skip that is this or more is cut to it.
constexpr uint64_t kSkipLimit = uint64_t{1} << 20;
constexpr uint64_t kUndecided = ~uint64_t{0};
// Lanes of the widest vector; what is asked for is in whole vectors.
constexpr size_t kSkipLanes = 8;

// skips[i] = min(floor(ln U_i / ln(1 - q)), kSkipLimit) or kUndecided, for `count` words, a
// multiple of kSkipLanes; `rate` is -ln(1 - q) > 0 within a relative 2^-50. False if one is
// undecided.
bool GeometricSkips(const uint64_t* words, size_t count, double rate, uint64_t* skips);

}  // namespace dpledger::client::internal
