#include "client/discrete_gaussian.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include "client/internal/real.h"
#include "client/root_key.h"

namespace dpledger::client {
namespace {

using internal::Real;

// Levels of the key's streams: candidate j reads from 512 j on, its uniform from 512 j + 256 on.
constexpr uint64_t kLevelsOfAnAttempt = 512, kLevelOfUniform = 256;
// A candidate within is kept by a comparison of integers.
constexpr int64_t kUsualSigmas = 8;
constexpr size_t kPiece = size_t{1} << 16;

constexpr mpfr_rnd_t Opposite(mpfr_rnd_t direction) {
  return direction == MPFR_RNDD ? MPFR_RNDU : MPFR_RNDD;
}

// erf or erfc of twice / (2 sqrt(2) sigma), rounded in the direction.
using ErrorFunction = int(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);
void ErrorFunctionOf(Real& result, ErrorFunction* function, int64_t twice, int64_t sigma,
                     mpfr_rnd_t direction) {
  // erf grows, erfc falls.
  const mpfr_rnd_t towards = function == &mpfr_erf ? direction : Opposite(direction);
  Real root(mpfr_get_prec(result));
  mpfr_sqrt_ui(root, 8, Opposite(towards));
  mpfr_mul_si(root, root, sigma, Opposite(towards));
  mpfr_set_sj(result, twice, MPFR_RNDN);  // exact: 128 bits or more
  mpfr_div(result, result, root, towards);
  function(result, result, direction);
}

// exp(-k^2 / (2 sigma^2)) p(0) / p(k) = 2 exp(...) erf(1/(2 sqrt(2) sigma)) / (erfc of (k - 1/2) -
// erfc of (k + 1/2), over sqrt(2) sigma), rounded in the direction; k >= 1.
void Kept(Real& result, int64_t k, int64_t sigma, mpfr_rnd_t direction) {
  const mpfr_prec_t bits = mpfr_get_prec(result);
  const mpfr_rnd_t other = Opposite(direction);
  Real share(bits), beyond(bits);
  ErrorFunctionOf(share, &mpfr_erfc, 2 * k - 1, sigma, other);
  ErrorFunctionOf(beyond, &mpfr_erfc, 2 * k + 1, sigma, direction);
  mpfr_sub(share, share, beyond, other);

  mpfr_set_sj(result, k, MPFR_RNDN);
  mpfr_div_si(result, result, sigma, other);
  mpfr_sqr(result, result, other);
  mpfr_div_2ui(result, result, 1, MPFR_RNDN);
  mpfr_neg(result, result, MPFR_RNDN);
  mpfr_exp(result, result, direction);
  Real center(bits);
  ErrorFunctionOf(center, &mpfr_erf, 1, sigma, direction);
  mpfr_mul(result, result, center, direction);
  mpfr_mul_2ui(result, result, 1, MPFR_RNDN);
  mpfr_div(result, result, share, direction);
}

}  // namespace

DiscreteGaussian::DiscreteGaussian(int64_t sigma)
    : sigma_(sigma),
      rounded_(sigma),
      rejection_scale_(0x1p64 / 24 * (1 + 0x1p-40) / std::pow(static_cast<double>(sigma), 4)) {}

bool DiscreteGaussian::Keeps(int64_t k, absl::FunctionRef<uint64_t(uint64_t level)> bits) const {
  if (k == 0) return true;
  const uint64_t first = bits(0);
  const auto value = static_cast<double>(k);
  // 1 less the uniform's upper end, against the most that may be rejected.
  if (static_cast<double>(~first) >= value * value * rejection_scale_) return true;
  std::vector<uint64_t> words = {first};
  while (true) {
    const internal::UniformInterval uniform(words);
    // The difference of the error functions loses the digits of sigma.
    const mpfr_prec_t precision = internal::UniformInterval::Precision(words.size()) +
                                  2 * std::bit_width(static_cast<uint64_t>(sigma_));
    Real bound(precision);
    Kept(bound, std::abs(k), sigma_, MPFR_RNDD);
    const bool kept = mpfr_lessequal_p(uniform.upper, bound);
    Kept(bound, std::abs(k), sigma_, MPFR_RNDU);
    const bool rejected = mpfr_greaterequal_p(uniform.lower, bound);
    if (kept || rejected) {
      mpfr_free_cache();
      return kept;
    }
    words.push_back(bits(words.size()));
  }
}

int64_t DiscreteGaussian::Sample(KeyStream& key, uint64_t part, uint64_t index,
                                 int64_t candidate) const {
  for (uint64_t level = 0;; level += kLevelsOfAnAttempt) {
    // 128 rejections in a row have a probability below 2^-500.
    if (level > 0) {
      candidate = 0;
      rounded_.AddTo(key, StreamOf(level, part), index, absl::MakeSpan(&candidate, 1));
    }
    const bool kept = Keeps(candidate, [&](uint64_t uniform_level) {
      return key.Block(StreamOf(level + kLevelOfUniform + uniform_level, part),
                       index / 2)[index % 2];
    });
    if (kept) return candidate;
  }
}

void DiscreteGaussian::AddTo(KeyStream& key, uint64_t part, uint64_t first,
                             absl::Span<int64_t> sums) const {
  constexpr size_t kWords = 1024;
  std::array<uint64_t, kWords> words;
  std::vector<int64_t> candidates;
  // Where so many are in doubt, only a uniform below 2^-64 is not: less than what keeps 8 sigma.
  const double rejected =
      rejection_scale_ * std::pow(static_cast<double>(kUsualSigmas * sigma_), 2);
  const uint64_t least = rejected < 0x1p63 ? static_cast<uint64_t>(rejected) + 1 : ~uint64_t{0};
  for (size_t begin = 0; begin < sums.size(); begin += kPiece) {
    candidates.assign(std::min(kPiece, sums.size() - begin), 0);
    const uint64_t from = first + begin;
    rounded_.AddTo(key, part, from, absl::MakeSpan(candidates));
    // Words of uniforms from an even index on, of which the first may be another's.
    for (uint64_t at = from / 2 * 2; at < from + candidates.size(); at += kWords) {
      key.Words(StreamOf(kLevelOfUniform, part), at / 2, absl::MakeSpan(words));
      const uint64_t end = std::min<uint64_t>(at + kWords, from + candidates.size());
      for (uint64_t i = std::max(at, from); i < end; ++i) {
        int64_t& candidate = candidates[i - from];
        const bool usual = ~words[i - at] >= least && std::abs(candidate) <= kUsualSigmas * sigma_;
        if (!usual) candidate = Sample(key, part, i, candidate);
        sums[begin + (i - from)] += candidate;
      }
    }
  }
}

}  // namespace dpledger::client
