#include "accountant/mechanism/joint_noise.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "accountant/numeric/rounding.h"
#include "base/status.h"

namespace dpledger::accountant {
namespace {

// Noise multipliers whose squares stay far from the ends of doubles.
constexpr double kLeastNoise = 1e-100, kGreatestNoise = 1e100;

}  // namespace

Interval Quotient(double a, double b) {
  const double quotient = a / b;
  // (The remainder must not underflow for this to say something.)
  const bool exact = std::fma(quotient, b, -a) == 0 && std::fabs(a) > 1e-290;
  if (exact || a == 0) return {quotient, quotient};
  return {NextDown(quotient), NextUp(quotient)};
}

absl::Status JointNoise::Add(Interval z, uint64_t count) {
  if (!(z.lower() >= kLeastNoise && z.upper() <= kGreatestNoise)) {
    return WithReason(absl::FailedPreconditionError(absl::StrCat(
                          "a noise multiplier of ", z.upper(), ": outside [1e-100, 1e100], ",
                          "no analysis; it is refused, not approximated")),
                      {"NO_ANALYSIS", {{"subject", "noise multiplier"}}});
  }
  Include(z, count);
  return absl::OkStatus();
}

void JointNoise::Include(Interval z, uint64_t count) {
  if (empty_ && count == 1) single_ = z;
  one_ = empty_ && count == 1;
  empty_ = false;
  const double n_up = NextUp(static_cast<double>(count)),
               n_down = NextDown(static_cast<double>(count));
  precision_ = {AddDown(precision_.lower(), DivDown(n_down, MulUp(z.upper(), z.upper()))),
                AddUp(precision_.upper(), DivUp(n_up, MulDown(z.lower(), z.lower())))};
}

Interval JointNoise::multiplier() const {
  if (one_) return single_;
  return {DivDown(1, NextUp(std::sqrt(precision_.upper()))),
          DivUp(1, NextDown(std::sqrt(precision_.lower())))};
}

}  // namespace dpledger::accountant
