#include "client/rounded_gaussian.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "client/internal/noise_kernels.h"
#include "client/internal/real.h"
#include "client/root_key.h"

namespace dpledger::client {
namespace {

using internal::Real;

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

RoundedGaussian::Pair RoundedGaussian::SlowPair(KeyStream& key, uint64_t part,
                                                uint64_t pair) const {
  const std::array<uint64_t, 2> words = key.Block(StreamOf(0, part), pair);
  const std::array<uint64_t, 2> next = key.Block(StreamOf(1, part), pair);
  const auto decided = internal::WidePair({words[0], next[0]}, {words[1], next[1]}, sigma_);
  if (decided) return *decided;
  return ExactPair([&](uint64_t level) { return key.Block(StreamOf(level, part), pair); });
}

size_t RoundedGaussian::SlowPairs(size_t samples) const {
  // From an odd index on there is one pair more.
  const double mean = 0.5 * static_cast<double>(samples + 2) * internal::OpenPairShare(sigma_);
  // P(X >= n) <= e^-mean (e mean / n)^n for a sum X of independent 0 and 1 (Chernoff).
  size_t count = 1;
  while (true) {
    const double next = static_cast<double>(count + 1);
    if (next > mean && mean + next * (std::log(next / mean) - 1) > 60 * std::log(2.0)) return count;
    count += 1 + count / 16;
  }
}

void RoundedGaussian::Draw(
    KeyStream& key, uint64_t part, uint64_t first, size_t size,
    absl::FunctionRef<void(size_t at, absl::Span<const int64_t> noise)> use) const {
  constexpr size_t kPairs = 512;  // 8 KiB of words, which stay in the first cache
  constexpr size_t kPiece = size_t{1} << 20;
  alignas(64) std::array<uint64_t, 2 * kPairs> words;
  alignas(64) std::array<int64_t, 2 * kPairs> noise;
  std::array<uint32_t, kPairs> open;
  std::vector<uint64_t> open_pairs;
  std::vector<Pair> decided;
  for (uint64_t piece = first; piece < first + size; piece += kPiece) {
    const uint64_t end = std::min<uint64_t>(piece + kPiece, first + size);
    const uint64_t first_pair = piece / 2, end_pair = (end + 1) / 2;
    // Of the samples from `begin` on, those of this piece.
    const auto use_own = [&](uint64_t begin, absl::Span<const int64_t> samples) {
      const uint64_t low = std::max(begin, piece);
      const uint64_t high = std::min<uint64_t>(begin + samples.size(), end);
      if (low < high) use(low - first, samples.subspan(low - begin, high - low));
    };
    open_pairs.clear();
    for (uint64_t pair = first_pair; pair < end_pair; pair += kPairs) {
      const size_t count = std::min<uint64_t>(kPairs, end_pair - pair);
      const size_t drawn =
          (count + internal::kPairStep - 1) / internal::kPairStep * internal::kPairStep;
      key.Words(StreamOf(0, part), pair, absl::MakeSpan(words).first(2 * drawn));
      const size_t opened =
          internal::RoundPairs(words.data(), drawn, sigma_, noise.data(), open.data());
      for (size_t i = 0; i < opened; ++i) {
        if (open[i] < count) open_pairs.push_back(pair + open[i]);
      }
      use_own(2 * pair, absl::MakeConstSpan(noise).first(2 * count));
    }
    // Pairs that are decided already fill up the number.
    const size_t own = open_pairs.size(), slow_pairs = SlowPairs(end - piece);
    for (uint64_t pair = first_pair; open_pairs.size() < slow_pairs; ++pair) {
      open_pairs.push_back(pair);
    }
    decided.clear();
    for (const uint64_t pair : open_pairs) decided.push_back(SlowPair(key, part, pair));
    for (size_t i = 0; i < own; ++i) use_own(2 * open_pairs[i], decided[i]);
  }
}

void RoundedGaussian::AddTo(KeyStream& key, uint64_t part, uint64_t first,
                            absl::Span<int64_t> sums) const {
  Draw(key, part, first, sums.size(), [&](size_t at, absl::Span<const int64_t> noise) {
    internal::AddModulo(noise.data(), noise.size(), sums.data() + at);
  });
}

void RoundedGaussian::Release(KeyStream& key, uint64_t part, uint64_t first,
                              absl::Span<const int64_t> sums, double grid,
                              absl::Span<float> released) const {
  Draw(key, part, first, sums.size(), [&](size_t at, absl::Span<const int64_t> noise) {
    internal::AddAndScale(sums.data() + at, noise.data(), noise.size(), grid, released.data() + at);
  });
}

}  // namespace dpledger::client
