// Exact samples of a Gaussian rounded to the nearest integer: P(R = k) = Phi((k + 1/2)/sigma) -
// Phi((k - 1/2)/sigma), to infinite tails.
//
// Two samples are round(sigma * sqrt(-2 ln U1) * cos(2 pi U2)) and the same with sin, for uniforms
// U1, U2 that are infinite bit strings of which as many bits are drawn as the answer needs.
//
// 1. A result is returned only when it is that of the real-number formula for *every* continuation
//    of the bits drawn. Hence it is exact, and the same on every machine whatever its libm
//    (docs/formats.md, section 3.4).
// 2. Nearly always 64 + 64 bits and double precision decide: the computed value is within
//    kErrorBound * sigma of the true one and no half-integer is that near. Otherwise MPFR decides,
//    with more bits. Proof: client/CLAIM.md.
// 3. Which path ran depends on the noise alone, never on data.
//
// Thread safety: const, with one AesCtr a thread. Assumes the default rounding mode (round to
// nearest).
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "client/aes_ctr.h"

namespace dpledger::client {

class RoundedGaussian {
 public:
  // |v - true value| <= kErrorBound * sigma on the fast path.
  static constexpr double kErrorBound = 0x1p-46;
  // Above, half-integers lie too dense for the fast path.
  static constexpr int64_t kMaxSigma = int64_t{1} << 40;

  // `sigma` in [1, kMaxSigma].
  explicit RoundedGaussian(int64_t sigma) : sigma_(sigma) {}

  // Adds sample i of `part` (< 2^48) of the key's stream to sums[i].
  void AddTo(AesCtr& key, uint64_t part, absl::Span<int64_t> sums) const;

  using Pair = std::array<int64_t, 2>;  // {cos, sin}

  // What 64 bits of each uniform decide in double precision; nullopt where they leave it open.
  std::optional<Pair> FastPair(uint64_t u1, uint64_t u2) const;
  // What the bits decide, however many it takes: bits(level) gives words `level` of U1 and U2.
  Pair ExactPair(absl::FunctionRef<std::array<uint64_t, 2>(uint64_t level)> bits) const;

 private:
  int64_t sigma_;
};

}  // namespace dpledger::client
