#include "client/noise_plan.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "client/internal/real.h"

namespace dpledger::client {
namespace {

// groups * K^2 * z^2 <= sigma^2, exactly: 64 + 2 * 64 + 2 * 53 bits fit.
bool Covers(double noise_multiplier, uint64_t groups, int64_t norm_bound, int64_t sigma) {
  internal::Real left(320), right(320);
  mpfr_set_d(left, noise_multiplier, MPFR_RNDN);
  mpfr_mul_si(left, left, norm_bound, MPFR_RNDN);
  mpfr_sqr(left, left, MPFR_RNDN);
  mpfr_mul_ui(left, left, groups, MPFR_RNDN);
  mpfr_set_si(right, sigma, MPFR_RNDN);
  mpfr_sqr(right, right, MPFR_RNDN);
  return mpfr_lessequal_p(left, right) != 0;
}

}  // namespace

absl::StatusOr<NoisePlan> NoisePlan::For(double noise_multiplier, size_t groups) {
  const double group_multiplier = noise_multiplier * std::sqrt(static_cast<double>(groups));
  if (!(group_multiplier >= 0x1p-10 && group_multiplier <= 0x1p20)) {
    return FieldError("noise_multiplier",
                      absl::StrCat("times the square root of the number of groups must be in "
                                   "[2^-10, 2^20], got ",
                                   noise_multiplier, " with ", groups, " groups"));
  }
  // 2^24 for the multipliers that are used (1/2 to 16). K >= 2^20 keeps the loss to rounding below
  // 1e-6 of a norm; K <= 2^25 keeps q^2 sums of 4096 coordinates in 64 bits.
  int64_t sigma = int64_t{1} << 24;
  while (static_cast<double>(sigma) < group_multiplier * 0x1p20) sigma <<= 4;
  while (static_cast<double>(sigma) > group_multiplier * 0x1p25) sigma >>= 4;
  auto norm_bound = static_cast<int64_t>(static_cast<double>(sigma) / group_multiplier) + 1;
  while (!Covers(noise_multiplier, groups, norm_bound, sigma)) --norm_bound;
  return NoisePlan{norm_bound, sigma};
}

}  // namespace dpledger::client
