#include "client/rounded_gaussian.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "client/internal/fast_normal.h"
#include "client/internal/real.h"

namespace dpledger::client {
namespace {

using internal::Real;

// The integer that `value` rounds to if every number within `error` of it rounds to the same.
std::optional<int64_t> RoundIfCertain(double value, double error) {
  const double nearest = std::nearbyint(value);
  // Exact: both are multiples of the value's last place, and the difference is at most 1/2.
  const double distance = std::fabs(value - nearest);
  if (!(0.5 - distance > error)) return std::nullopt;
  return static_cast<int64_t>(nearest);
}

// Bounds of radius * direction * sigma, rounded to integers; the answer once they agree.
std::optional<int64_t> RoundIfCertain(const Real& radius_lower, const Real& radius_upper,
                                      const Real& direction, const Real& direction_error,
                                      int64_t sigma) {
  const mpfr_prec_t bits = mpfr_get_prec(radius_lower);
  Real lower(bits), upper(bits);
  mpfr_sub(lower, direction, direction_error, MPFR_RNDD);
  mpfr_add(upper, direction, direction_error, MPFR_RNDU);
  mpfr_mul(lower, lower, mpfr_sgn(lower) >= 0 ? radius_lower : radius_upper, MPFR_RNDD);
  mpfr_mul(upper, upper, mpfr_sgn(upper) >= 0 ? radius_upper : radius_lower, MPFR_RNDU);
  for (auto [bound, rounding] : {std::pair(&lower, MPFR_RNDD), std::pair(&upper, MPFR_RNDU)}) {
    mpfr_mul_si(*bound, *bound, sigma, rounding);
    mpfr_add_d(*bound, *bound, 0.5, rounding);
    mpfr_floor(*bound, *bound);
  }
  // Infinite or NaN as long as U1 may be 0.
  if (!mpfr_number_p(lower) || !mpfr_number_p(upper) || !mpfr_equal_p(lower, upper)) {
    return std::nullopt;
  }
  return mpfr_get_sj(lower, MPFR_RNDN);
}

std::optional<RoundedGaussian::Pair> PairIfCertain(absl::Span<const uint64_t> u1_words,
                                                   absl::Span<const uint64_t> u2_words,
                                                   int64_t sigma) {
  const internal::UniformInterval u1(u1_words), u2(u2_words);
  const mpfr_prec_t bits = internal::UniformInterval::Precision(u1_words.size());
  Real radius_lower(bits), radius_upper(bits);
  for (auto [radius, u, rounding] : {std::tuple(&radius_lower, &u1.upper, MPFR_RNDD),
                                     std::tuple(&radius_upper, &u1.lower, MPFR_RNDU)}) {
    internal::NegativeLog(*radius, *u, rounding);
    mpfr_mul_2ui(*radius, *radius, 1, rounding);
    mpfr_sqrt(*radius, *radius, rounding);
  }
  // The angle at the lower end of U2: the true one is larger by less than 2 pi 2^-64m < 2^(3-64m);
  // the rounding of pi, product and functions, with 64 bits to spare, fits in what is left of that.
  Real angle(bits), cosine(bits), sine(bits), error(bits);
  mpfr_const_pi(angle, MPFR_RNDN);
  mpfr_mul_2ui(angle, angle, 1, MPFR_RNDN);
  mpfr_mul(angle, angle, u2.lower, MPFR_RNDN);
  mpfr_sin_cos(sine, cosine, angle, MPFR_RNDN);
  mpfr_set_ui_2exp(error, 1, 3 - 64 * static_cast<mpfr_exp_t>(u2_words.size()), MPFR_RNDN);

  const auto first = RoundIfCertain(radius_lower, radius_upper, cosine, error, sigma);
  const auto second = RoundIfCertain(radius_lower, radius_upper, sine, error, sigma);
  if (!first || !second) return std::nullopt;
  return RoundedGaussian::Pair{*first, *second};
}

}  // namespace

std::optional<RoundedGaussian::Pair> RoundedGaussian::FastPair(uint64_t u1, uint64_t u2) const {
  const auto normals = internal::FastNormals(u1, u2);
  if (!normals) return std::nullopt;
  const auto sigma = static_cast<double>(sigma_);
  const auto first = RoundIfCertain(sigma * (*normals)[0], kErrorBound * sigma);
  const auto second = RoundIfCertain(sigma * (*normals)[1], kErrorBound * sigma);
  if (!first || !second) return std::nullopt;
  return Pair{*first, *second};
}

RoundedGaussian::Pair RoundedGaussian::ExactPair(
    absl::FunctionRef<std::array<uint64_t, 2>(uint64_t level)> bits) const {
  std::vector<uint64_t> u1, u2;
  // Each level leaves the answer open with probability below 2^-20; a proper key ends this at once.
  for (uint64_t level = 0;; ++level) {
    const std::array<uint64_t, 2> words = bits(level);
    u1.push_back(words[0]);
    u2.push_back(words[1]);
    if (const auto pair = PairIfCertain(u1, u2, sigma_)) {
      mpfr_free_cache();
      return *pair;
    }
  }
}

void RoundedGaussian::AddTo(AesCtr& key, uint64_t part, absl::Span<int64_t> sums) const {
  constexpr size_t kPairs = 512;  // 8 KiB of words, which stay in the first cache
  std::array<uint64_t, 2 * kPairs> words;
  for (size_t begin = 0; begin < sums.size(); begin += 2 * kPairs) {
    const size_t count = std::min(2 * kPairs, sums.size() - begin);
    const size_t first_block = begin / 2;
    key.Words(StreamOf(0, part), first_block, absl::MakeSpan(words).first((count + 1) / 2 * 2));
    for (size_t i = 0; i < count; i += 2) {
      std::optional<Pair> pair = FastPair(words[i], words[i + 1]);
      if (!pair) {
        pair = ExactPair(
            [&](uint64_t level) { return key.Block(StreamOf(level, part), first_block + i / 2); });
      }
      sums[begin + i] += (*pair)[0];
      if (i + 1 < count) sums[begin + i + 1] += (*pair)[1];
    }
  }
}

}  // namespace dpledger::client
