#include "accountant/gaussian/gaussian.h"

#include <algorithm>
#include <cmath>

#include "accountant/numeric/constants.h"
#include "accountant/numeric/normal.h"
#include "accountant/numeric/root.h"
#include "accountant/numeric/rounding.h"

namespace dpledger::accountant::gaussian {
namespace {

// At a = -30, where R changes fastest, its slope changes by a third over this.
constexpr double kGreatestShift = 0.01;

// μ of the composition: upper from the smallest noise, lower from the greatest.
Interval Mu(const Composition& composition) {
  if (composition.steps.empty()) return {0, 0};
  double square_up = 0, square_down = 0;
  for (const SampledGaussian& step : composition.steps) {
    const double count = static_cast<double>(step.count);
    square_up =
        AddUp(square_up,
              DivUp(count, MulDown(step.noise_multiplier.lower(), step.noise_multiplier.lower())));
    square_down = AddDown(square_down, DivDown(count, MulUp(step.noise_multiplier.upper(),
                                                            step.noise_multiplier.upper())));
  }
  return {std::fmax(0, NextDown(std::sqrt(std::fmax(0, square_down)))),
          NextUp(std::sqrt(square_up))};
}

}  // namespace

bool Applies(const Composition& composition) {
  if (!composition.OnlyGaussians()) return false;
  return !composition.non_private &&
         std::all_of(composition.steps.begin(), composition.steps.end(),
                     [](const SampledGaussian& step) { return step.sampling_probability == 1; });
}

// With a = ε/μ - μ/2, b = ε/μ + μ/2: b² - a² = 2ε, so e^ε φ(b) = φ(a) and
//   δ = φ(a) (R(a) - R(b)),  R the Mills ratio (decreasing and convex).
// Error, line by line as in CLAIM.md: `argument` bounds what the rounding of a and b changes, the
// rest what the evaluation of R and φ does.
Interval LogDelta(double mu, double epsilon) {
  const double a = epsilon / mu - mu / 2, b = epsilon / mu + mu / 2;
  // Bounds the errors of a and b. For a large μ, a is a small difference of large numbers.
  const double shift = 3 * kUnitRoundoff * (std::fabs(epsilon / mu) + mu / 2);
  // δ = Φ(-a) - φ(a) R(b) >= 1 - 1e-190 there.
  if (a + shift < -30) return {-1e-190, 0};
  // δ <= φ(a) R(a) < e^{-a²/2} there, past what doubles can tell apart.
  if (a - shift > 1e10) return {-kInfinity, -1e19};
  // The bounds below are of first order in the shift.
  if (!(shift <= kGreatestShift)) {
    const double least = std::fmax(0, a - shift);
    return {-kInfinity, -0.5 * least * least * (1 - 1e-12)};
  }
  const double ratio_a = MillsRatio(a), ratio_b = MillsRatio(b);
  const double log_density =
      -0.5 * a * a - kLogSqrtTwoPi;  // δ = e^{log_density} (ratio_a - ratio_b)
  const double difference = ratio_a - ratio_b;
  // |dR/dx| = 1 - xR <= min(1 + |x|R, 1): for x >= 0 it is at most 1; for x < 0 at most 1 +
  // |x|R(x).
  const double slope = 1 + std::fmax(0, -a) * ratio_a;
  const double absolute = 2 * kNormalTailError * (ratio_a + ratio_b) + 2 * shift * slope;
  const double density_error =
      (std::fabs(a) + shift) * shift + 4 * kUnitRoundoff * (std::fabs(log_density) + 2);
  const double error_up = std::log1p(absolute / difference) + density_error;
  const double middle = log_density + std::log(difference);
  const double rounding = 8 * kUnitRoundoff * (std::fabs(middle) + 1);
  const double low = difference > absolute
                         ? middle + std::log1p(-absolute / difference) - density_error - rounding
                         : -kInfinity;
  const double high = difference > 0 ? middle + error_up + rounding
                                     : log_density + std::log(absolute) + density_error;
  return {low, std::fmin(0, high)};
}

Interval Delta(const Composition& composition, double epsilon) {
  const Interval mu = Mu(composition);
  return {mu.lower() > 0 ? ExpDown(LogDelta(mu.lower(), epsilon).lower()) : 0,
          mu.upper() > 0 ? std::fmin(1, ExpUp(LogDelta(mu.upper(), epsilon).upper())) : 0};
}

Interval Epsilon(const Composition& composition, double delta) {
  const Interval mu = Mu(composition);
  if (mu.upper() <= 0) return {0, 0};
  const double log_delta_down = LogDown(delta), log_delta_up = LogUp(delta);
  // δ(ε) <= Φ(μ/2 - ε/μ), so ε = μ²/2 + μ·Φ⁻¹(1-δ) is past the root; it is widened and checked
  // before use.
  double hi =
      mu.upper() * (mu.upper() / 2 + std::fabs(NormalTailInverse(std::fmin(delta, 0.5))) + 1);
  while (LogDelta(mu.upper(), hi).upper() > log_delta_down && std::isfinite(hi)) hi *= 2;
  const auto too_much = [&](double e) { return LogDelta(mu.upper(), e).upper() - log_delta_down; };
  const double upper = too_much(0) <= 0 ? 0 : BracketDecreasing(too_much, 0, hi, 1e-15).second;
  if (!(mu.lower() > 0)) return {0, upper};
  const auto surely_more = [&](double e) { return LogDelta(mu.lower(), e).lower() - log_delta_up; };
  return {surely_more(0) <= 0 ? 0 : BracketDecreasing(surely_more, 0, hi, 1e-15).first, upper};
}

}  // namespace dpledger::accountant::gaussian
