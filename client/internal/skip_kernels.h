// Geometric skips from random words, several at a time: the fast path of client/poisson_sampler.h
// on the widest vector registers of the machine.
//
// Every skip is either floor(ln U / ln(1 - q)) for all infinite bit strings U that begin with its
// word, or marked as undecided: so what is computed with is no part of the result. Derivation:
// client/CLAIM.md, line V. Assumes round-to-nearest. Thread safe.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dpledger::client::internal {

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
