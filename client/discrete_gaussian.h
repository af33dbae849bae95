// Exact samples of the discrete Gaussian (Canonne, Kamath and Steinke 2020): P(K = k) proportional
// to exp(-k^2 / (2 sigma^2)) on the integers.
//
// 1. Rejection on top of the rounded Gaussian (rounded_gaussian.h): a candidate k is kept with
//    probability exp(-k^2 / (2 sigma^2)) p(0) / p(k), p being the rounded Gaussian's. That is
//    at least 1 - k^2 / (24 sigma^4), so nearly always 1. Proof: client/CLAIM.md, line D.
// 2. Kept or not is decided for *every* continuation of the bits drawn, by doubles where that bound
//    is enough and by MPFR with more bits otherwise: exact, and the same on every machine
//    (docs/formats.md, section 3.10).
// 3. How long it takes depends on the noise alone, never on data; it tells of rejections, which
//    are one in 24 sigma^2.
//
// Thread safety: const, with one KeyStream a thread. Assumes the default rounding mode (round to
// nearest).
#pragma once

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "client/key_stream.h"
#include "client/rounded_gaussian.h"

namespace dpledger::client {

class DiscreteGaussian {
 public:
  static constexpr int64_t kMaxSigma = RoundedGaussian::kMaxSigma;

  // `sigma` in [1, kMaxSigma].
  explicit DiscreteGaussian(int64_t sigma);

  // Adds sample first + i of `part` (< 2^48) of the key's stream to sums[i]: threads may split a
  // part in any way.
  void AddTo(KeyStream& key, uint64_t part, uint64_t first, absl::Span<int64_t> sums) const;

  // Whether the candidate k is kept for the uniform of which bits(level) gives the words; abs(k)
  // at most 1000 sigma.
  bool Keeps(int64_t k, absl::FunctionRef<uint64_t(uint64_t level)> bits) const;

 private:
  int64_t Sample(KeyStream& key, uint64_t part, uint64_t index, int64_t candidate) const;

  int64_t sigma_;
  RoundedGaussian rounded_;
  // 2^64 / (24 sigma^4), rounded up.
  double rejection_scale_;
};

}  // namespace dpledger::client
