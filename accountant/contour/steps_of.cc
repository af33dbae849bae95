#include "accountant/contour/steps_of.h"

#include <cmath>
#include <limits>
#include <utility>

#include "accountant/contour/pair_loss.h"
#include "accountant/numeric/rounding.h"

namespace dpledger::accountant::contour {
namespace {

// Below this width of μ one line carries both bounds; above it each has its own.
constexpr double kNarrow = 1e-13;

}  // namespace

Widths StepsOf(const std::vector<SampledGaussian>& steps, bool add) {
  Widths widths{{}, {}, true};
  for (const SampledGaussian& s : steps) {
    const Interval z = s.noise_multiplier;
    const bool exact = z.lower() == z.upper() && std::fma(z.lower(), 1 / z.lower(), -1.0) == 0;
    const double high = exact ? 1 / z.lower() : DivUp(1, z.lower());
    const double low = exact ? high : DivDown(1, z.upper());
    const double count = static_cast<double>(s.count);
    widths.upper.push_back({s.sampling_probability, high, (high - low) / low, count, add});
    widths.lower.push_back({s.sampling_probability, low, 0, count, add});
    if (!(widths.upper.back().spread <= kNarrow)) widths.narrow = false;
  }
  if (!widths.narrow) {
    for (Step& step : widths.upper) step.spread = 0;
  }
  return widths;
}

Widths EndsOfWidth(const std::vector<SampledGaussian>& steps, bool add) {
  Widths widths = StepsOf(steps, add);
  for (std::vector<Step>* ends : {&widths.upper, &widths.lower}) {
    for (Step& step : *ends) step.spread = 0;
  }
  return widths;
}

Widths StepsOf(const Composition& composition, bool add) {
  Widths widths = StepsOf(composition.steps, add);
  for (const PairStep& step : composition.pairs) {
    Step upper{1, 0, 0, static_cast<double>(step.count), add, PairLoss::Of(step.upper, add)};
    Step lower = upper;
    if (!(step.lower == step.upper)) {
      lower.pair = PairLoss::Of(step.lower, add);
      widths.narrow = false;
    }
    // The infinite mass is subtracted from δ, and its rounding differs between the two bounds.
    if (upper.pair->infinite() > 0) widths.narrow = false;
    widths.upper.push_back(std::move(upper));
    widths.lower.push_back(std::move(lower));
  }
  return widths;
}

// 1 - Π (1 - infinite)^count.
Interval InfiniteMass(const std::vector<Step>& steps) {
  double log_finite = 0;
  for (const Step& step : steps) {
    if (step.pair == nullptr) continue;
    log_finite += step.count * std::log1p(-std::fmin(step.pair->infinite(), 1 - 1e-16));
  }
  if (log_finite == 0) return {0, 0};
  const double infinite = -std::expm1(log_finite);
  return {infinite * (1 - 1e-12), std::fmin(1, infinite * (1 + 1e-12))};
}

double OrderShowingBelow(Tilting& tilting, double delta, double epsilon, double start) {
  if (!(epsilon > 0)) return 0;
  const double log_delta = LogDown(delta);
  double c = start;
  for (int i = 0; i < 4; ++i) {
    const Saddle at = tilting.At(c);
    c = at.c;
    const double log_mgf = at.log_mgf + at.error;
    const double rounding =
        16 * kUnitRoundoff * (std::fabs(log_mgf) + c * epsilon + std::fabs(log_delta) + 1);
    if (log_mgf - c * epsilon + LogChernoff(c) + rounding <= log_delta) return c;
    // Towards the order that minimises K(c) - cε + LogChernoff(c).
    const double slope = at.mean - epsilon + std::log(c / (1 + c));
    const double next = c - slope / (at.variance + 1 / (c * (1 + c)));
    if (!std::isfinite(next) || std::fabs(next - c) < 0.01 * c) break;
    c = std::fmin(3 * c, std::fmax(c / 3, next));
  }
  return 0;
}

double EpsilonUpByChernoff(Tilting& tilting, double delta, double start) {
  const double log_delta = LogDown(delta);
  double best = std::numeric_limits<double>::infinity(), c = start;
  // ε(c) = (K(c) + LogChernoff(c) - log δ)/c; its derivative vanishes at the best order.
  for (int i = 0; i < 40; ++i) {
    const Saddle at = tilting.At(c);
    c = at.c;
    const double numerator = at.log_mgf + at.error + LogChernoff(c) - log_delta;
    const double rounding =
        16 * kUnitRoundoff * (std::fabs(at.log_mgf) + std::fabs(log_delta) + c + 1);
    const double bound = NextUp((numerator + rounding) / c);
    if (!std::isfinite(bound)) break;
    best = std::fmin(best, bound);
    const double slope = at.mean + std::log(c / (1 + c)) - numerator / c;
    const double next = c - slope / (at.variance + 1 / (c * (1 + c)));
    if (!std::isfinite(next) || std::fabs(next - c) < 1e-3 * c) break;
    c = std::fmin(3 * c, std::fmax(c / 3, next));
  }
  return std::fmax(0, best);
}

double DeltaUpByChernoff(Tilting& tilting, double epsilon) {
  const double c = tilting.ForEpsilon(epsilon, 4).c;
  double best = 0;
  for (const double near : {0.9 * c, 1.05 * c, 1.3 * c}) {
    const Saddle at = tilting.At(near);
    const double order = at.c, bound = at.log_mgf + at.error - order * epsilon + LogChernoff(order);
    const double rounding =
        16 * kUnitRoundoff * (std::fabs(at.log_mgf) + order * epsilon + order + 1);
    if (bound + rounding < best) best = bound + rounding;
  }
  return std::fmin(1, ExpUp(best));
}

}  // namespace dpledger::accountant::contour
