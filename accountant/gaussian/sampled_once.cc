#include "accountant/gaussian/sampled_once.h"

#include <cmath>

#include "accountant/gaussian/gaussian.h"
#include "accountant/numeric/constants.h"
#include "accountant/numeric/normal.h"
#include "accountant/numeric/root.h"
#include "accountant/numeric/rounding.h"

namespace dpledger::accountant::gaussian {
namespace {

// Past this ε expm1 leaves the range, and 1 - q is nothing beside e^ε.
constexpr double kLargeEpsilon = 700;

struct Once {
  double q;
  Interval mu;
};

Once OnceOf(const Composition& composition) {
  const SampledGaussian& step = composition.steps[0];
  return {step.sampling_probability,
          {DivDown(1, step.noise_multiplier.upper()), DivUp(1, step.noise_multiplier.lower())}};
}

// From a little below to a little above: n unit roundoffs of it.
Interval Around(double a, double n) {
  const double width = n * kUnitRoundoff * std::fabs(a);
  return {NextDown(a - width), NextUp(a + width)};
}

// δ(ε) = q δ_G(ε'), e^{ε'} = 1 + (e^ε - 1)/q, δ_G the Gaussian mechanism's.
Interval LogDeltaRemove(const Once& once, double epsilon) {
  const double inner = epsilon > kLargeEpsilon ? epsilon - std::log(once.q)
                                               : std::log1p(std::expm1(epsilon) / once.q);
  const Interval at = Around(inner, 16);
  const double log_q = std::log(once.q);
  return {NextDown(Around(log_q, 4).lower() + LogDelta(once.mu.lower(), at.upper()).lower()),
          NextUp(Around(log_q, 4).upper() +
                 LogDelta(once.mu.upper(), std::fmax(0, at.lower())).upper())};
}

// δ(ε) = q e^{ε-ε''} δ_G(ε''), e^{-ε''} = 1 - (1 - e^{-ε})/q; 0 where that is not positive.
Interval LogDeltaAdd(const Once& once, double epsilon) {
  const Interval argument = Around(std::expm1(-epsilon) / once.q, 8);
  if (argument.upper() <= -1) return {-kInfinity, -kInfinity};
  const double least = std::fmax(0, Around(-std::log1p(argument.upper()), 8).lower());
  const double log_q = std::log(once.q);
  const double rounding = 8 * kUnitRoundoff * (std::fabs(log_q) + epsilon + least + 1);
  const double upper =
      log_q + epsilon - least + LogDelta(once.mu.upper(), least).upper() + rounding;
  if (argument.lower() <= -1) return {-kInfinity, upper};
  const double most = Around(-std::log1p(argument.lower()), 8).upper();
  return {log_q + epsilon - most + LogDelta(once.mu.lower(), most).lower() - rounding -
              8 * kUnitRoundoff * most,
          upper};
}

Interval LogDeltaIn(const Once& once, std::optional<Direction> direction, double epsilon) {
  return direction == Direction::kAdd ? LogDeltaAdd(once, epsilon) : LogDeltaRemove(once, epsilon);
}

}  // namespace

bool AppliesOnce(const Composition& composition) {
  return !composition.non_private && composition.OnlyGaussians() && composition.steps.size() == 1 &&
         composition.steps[0].count == 1;
}

Interval DeltaOnce(const Composition& composition, std::optional<Direction> direction,
                   double epsilon) {
  const Interval log_delta = LogDeltaIn(OnceOf(composition), direction, epsilon);
  return {ExpDown(log_delta.lower()),
          log_delta.upper() == -kInfinity ? 0 : std::fmin(1, ExpUp(log_delta.upper()))};
}

Interval EpsilonOnce(const Composition& composition, std::optional<Direction> direction,
                     double delta) {
  const Once once = OnceOf(composition);
  const double log_delta_down = LogDown(delta), log_delta_up = LogUp(delta);
  // As in gaussian.cc, whose ε is the larger; add's loss is at most -log(1-q).
  double hi = once.mu.upper() *
              (once.mu.upper() / 2 + std::fabs(NormalTailInverse(std::fmin(delta, 0.5))) + 1);
  if (direction == Direction::kAdd && once.q < 1)
    hi = std::fmin(hi, Around(-std::log1p(-once.q), 8).upper());
  const auto too_much = [&](double e) {
    return LogDeltaIn(once, direction, e).upper() - log_delta_down;
  };
  const auto surely_more = [&](double e) {
    return LogDeltaIn(once, direction, e).lower() - log_delta_up;
  };
  while (too_much(hi) > 0 && std::isfinite(hi)) hi *= 2;
  if (!(too_much(0) > 0)) return {0, 0};
  const double upper = BracketDecreasing(too_much, 0, hi, 1e-15).second;
  return {surely_more(0) > 0 ? BracketDecreasing(surely_more, 0, hi, 1e-15).first : 0, upper};
}

double TotalVariationUp(const Composition& composition) {
  double sum = 0;
  for (const SampledGaussian& step : composition.steps) {
    // 2Φ(μ/2) - 1, on the safe side of erf's few ulp.
    const double one =
        std::erf(DivUp(1, step.noise_multiplier.lower()) / std::sqrt(8)) * (1 + 1e-14);
    sum = AddUp(
        sum, MulUp(MulUp(step.sampling_probability, one), NextUp(static_cast<double>(step.count))));
  }
  return NextUp(sum);
}

}  // namespace dpledger::accountant::gaussian
