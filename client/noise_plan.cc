#include "client/noise_plan.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "client/internal/real.h"

namespace dpledger::client {
namespace {

// Keeps every K at 16 or more.
constexpr double kMostRatio = 0x1p16;

// sensitivity^2 * sum of K^2 * z^2 <= sigma^2, exactly: 2 + 12 + 2 * 25 + 2 * 53 bits fit.
bool Covers(double noise_multiplier, const NoisePlan& plan) {
  internal::Real left(320), square(320), right(320);
  mpfr_set_zero(left, 1);
  for (const int64_t norm_bound : plan.norm_bounds) {
    mpfr_set_sj(square, norm_bound, MPFR_RNDN);
    mpfr_sqr(square, square, MPFR_RNDN);
    mpfr_add(left, left, square, MPFR_RNDN);
  }
  mpfr_set_d(square, noise_multiplier, MPFR_RNDN);
  mpfr_mul_si(square, square, plan.sensitivity, MPFR_RNDN);
  mpfr_sqr(square, square, MPFR_RNDN);
  mpfr_mul(left, left, square, MPFR_RNDN);
  mpfr_set_sj(right, plan.noise_stddev, MPFR_RNDN);
  mpfr_sqr(right, right, MPFR_RNDN);
  return mpfr_lessequal_p(left, right) != 0;
}

// Of the groups; with the round's multiplier z and weights w, z_g is z |w| / w_g.
std::vector<double> WeightsOf(const PrivatizerOptions& options) {
  std::vector<double> weights;
  for (const ClipGroup& group : options.groups) {
    // The least of sum size_g sigma_g^2 for a given sum of (C_g / sigma_g)^2: the group's share of
    // the latter, w_g^2, is proportional to C_g sqrt(size_g).
    const double clip_norm = group.normalise ? 1 : group.clip_norm;
    weights.push_back(options.allocation == NoiseAllocation::kProportional
                          ? 1
                          : std::sqrt(clip_norm) * std::pow(static_cast<double>(group.size), 0.25));
  }
  if (options.adaptive) {
    // w_s / |w| = z / z_s, for the one group and the statistic s.
    const double share = options.noise_multiplier / options.adaptive->noise_multiplier;
    weights = {std::sqrt((1 - share) * (1 + share)), share};
  }
  return weights;
}

}  // namespace

absl::StatusOr<NoisePlan> NoisePlan::For(double noise_multiplier, absl::Span<const double> weights,
                                         int64_t sensitivity) {
  std::vector<double> multipliers;
  for (const double own : weights) {
    double squares = 0;
    for (const double weight : weights) squares += (weight / own) * (weight / own);
    multipliers.push_back(static_cast<double>(sensitivity) * noise_multiplier * std::sqrt(squares));
    if (!(multipliers.back() >= 0x1p-10 && multipliers.back() <= 0x1p20)) {
      return FieldError("noise_multiplier",
                        absl::StrCat("must give each sum query a multiplier in [2^-10, 2^20]; ",
                                     noise_multiplier, " gives query ", multipliers.size() - 1,
                                     " of ", weights.size(), " ", multipliers.back()));
    }
  }
  // 2^24 for the multipliers that are used (1/2 to 16). The largest K >= 2^20 keeps the loss to
  // rounding below 1e-6 of a norm; K <= 2^25 keeps q^2 sums of 4096 coordinates in 64 bits.
  const auto [least_at, most_at] = std::minmax_element(multipliers.begin(), multipliers.end());
  const double least = *least_at;
  if (!(*most_at <= least * kMostRatio)) {
    return FieldError("noise_multiplier",
                      absl::StrCat("gives sum queries multipliers that differ by more than 2^16: ",
                                   least, " and ", *most_at));
  }
  NoisePlan plan{{}, int64_t{1} << 24, sensitivity};
  while (static_cast<double>(plan.noise_stddev) < least * 0x1p20) plan.noise_stddev <<= 4;
  while (static_cast<double>(plan.noise_stddev) > least * 0x1p25) plan.noise_stddev >>= 4;
  for (const double multiplier : multipliers) {
    const double most = static_cast<double>(plan.noise_stddev) / multiplier;
    plan.norm_bounds.push_back(static_cast<int64_t>(most) + 1);
  }
  // One or two rounds: without the + 1 it holds but for the rounding of doubles.
  while (!Covers(noise_multiplier, plan)) {
    for (int64_t& norm_bound : plan.norm_bounds) --norm_bound;
  }
  return plan;
}

absl::StatusOr<NoisePlan> NoisePlan::For(const PrivatizerOptions& options) {
  return For(options.noise_multiplier, WeightsOf(options), options.microbatches ? 2 : 1);
}

}  // namespace dpledger::client
