// Exact samples of a Gaussian rounded to the nearest integer: P(R = k) = Phi((k + 1/2)/sigma) -
// Phi((k - 1/2)/sigma), to infinite tails.
//
// Two samples are round(sigma * sqrt(-2 ln U1) * cos(2 pi U2)) and the same with sin, for uniforms
// U1, U2 that are infinite bit strings of which as many bits are drawn as the answer needs.
//
// 1. A result is returned only when it is that of the real-number formula for *every* continuation
//    of the bits drawn. Hence it is exact, and the same on every machine and instruction set
//    (docs/formats.md, section 3.4).
// 2. Nearly always 64 + 64 bits and vectors of doubles decide; then 128 + 128 bits and integers;
//    otherwise MPFR, with more bits. Proof: client/CLAIM.md.
// 3. Which path ran depends on the noise alone, never on data, and the time does not tell it: what
//    doubles leave open is decided at the end of each 2^20 samples, among a fixed number of
//    evaluations (`SlowPairs`). client/CLAIM.md, line T, says what remains.
//
// Thread safety: const, with one KeyStream a thread. Assumes the default rounding mode (round to
// nearest).
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "client/key_stream.h"

namespace dpledger::client {
namespace internal {

// The rounded {cos, sin} for 1 <= sigma <= 2^40, of 128 bits of each uniform, most significant
// first, in integer arithmetic. The same operations for all words, unless the bits leave the result
// open (nullopt): with a probability below 2^-95 sigma + 2^-63. Derivation: client/CLAIM.md, line
// W. Thread safe.
std::optional<std::array<int64_t, 2>> WidePair(std::array<uint64_t, 2> u1,
                                               std::array<uint64_t, 2> u2, int64_t sigma);

}  // namespace internal

class RoundedGaussian {
 public:
  // So that half-integers lie wide enough for the fast path.
  static constexpr int64_t kMaxSigma = int64_t{1} << 40;

  // `sigma` in [1, kMaxSigma].
  explicit RoundedGaussian(int64_t sigma) : sigma_(sigma) {}

  // Adds sample first + i of `part` (< 2^48) of the key's stream to sums[i]: threads may split a
  // part in any way.
  void AddTo(KeyStream& key, uint64_t part, uint64_t first, absl::Span<int64_t> sums) const;
  void AddTo(KeyStream& key, uint64_t part, absl::Span<int64_t> sums) const {
    AddTo(key, part, /*first=*/0, sums);
  }

  // released[i] = grid * (sums[i] + sample first + i), in double, rounded to float; in one pass.
  // As many of the one as of the other. Until this returns, `released` holds sums without noise.
  void Release(KeyStream& key, uint64_t part, uint64_t first, absl::Span<const int64_t> sums,
               double grid, absl::Span<float> released) const;

  using Pair = std::array<int64_t, 2>;  // {cos, sin}

  // What the bits decide by MPFR, however many it takes: bits(level) gives words `level` of U1 and
  // U2.
  Pair ExactPair(absl::FunctionRef<std::array<uint64_t, 2>(uint64_t level)> bits) const;

  // How many pairs are decided (again) by integers for each `samples` <= 2^20: more are left open
  // by doubles with probability below 2^-60.
  size_t SlowPairs(size_t samples) const;

 private:
  // Calls use(i, noise) for samples first + i, ... until each of `size` had its last call, which
  // counts: the earlier one for a sample that doubles left open has noise 0.
  void Draw(KeyStream& key, uint64_t part, uint64_t first, size_t size,
            absl::FunctionRef<void(size_t at, absl::Span<const int64_t> noise)> use) const;
  Pair SlowPair(KeyStream& key, uint64_t part, uint64_t pair) const;

  int64_t sigma_;
};

}  // namespace dpledger::client
