#include "accountant/rdp/rdp.h"

#include <cmath>
#include <limits>
#include <vector>

#include "accountant/numeric/rounding.h"
#include "accountant/rdp/sampled_gaussian.h"
#include "base/status.h"

namespace dpledger::accountant::rdp {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// log(α - 1) of the least and greatest order tried.
constexpr double kFirst = -7, kLast = 14;
constexpr int kGrid = 43;         // half a unit apart
constexpr int kGoldenSteps = 32;  // narrows one grid cell to 2e-7 of its width

double Evaluate(const std::function<double(double)>& f, double log_excess) {
  const double value = f(1 + std::exp(log_excess));
  return std::isnan(value) ? kInfinity : value;
}

// Four roundings of the sum's size: every term below carries at most that.
double WithRounding(double value, double magnitude) {
  return value + 8 * kUnitRoundoff * (std::fabs(value) + magnitude);
}

double EpsilonAt(const Curve& curve, double order, double log_delta) {
  const double divergence = curve(order);
  const double tail = (log_delta + std::log(order)) / (order - 1);
  const double epsilon = divergence + std::log1p(-1 / order) - tail;
  return WithRounding(epsilon, std::fabs(divergence) + std::fabs(tail) +
                                   std::fabs(std::log1p(-1 / order)) +
                                   (std::fabs(log_delta) + std::log(order)) / (order - 1));
}

double LogDeltaAt(const Curve& curve, double order, double epsilon) {
  const double divergence = curve(order);
  const double value =
      (order - 1) * (divergence - epsilon) + order * std::log1p(-1 / order) - std::log(order - 1);
  return WithRounding(value, (order - 1) * (std::fabs(divergence) + epsilon) +
                                 order * -std::log1p(-1 / order) + std::fabs(std::log(order - 1)));
}

}  // namespace

Curve CurveOf(const Composition& composition) {
  return [steps = composition.steps, non_private = composition.non_private](double order) {
    if (non_private) return kInfinity;
    double sum = 0;
    for (const SampledGaussian& step : steps) {
      const double log_moment =
          LogMomentUp(step.sampling_probability, DivUp(1, step.noise_multiplier.lower), order);
      sum = AddUp(sum, MulUp(NextUp(static_cast<double>(step.count)), log_moment));
    }
    return DivUp(sum, NextDown(order - 1));
  };
}

absl::StatusOr<double> BestOrder(const std::function<double(double)>& f, const Limits& limits) {
  double best_at = kFirst, best = kInfinity;
  const double cell = (kLast - kFirst) / (kGrid - 1);
  for (int i = 0; i < kGrid; ++i) {
    RETURN_IF_ERROR(limits.Check());
    const double at = kFirst + cell * i;
    const double value = Evaluate(f, at);
    if (value < best) {
      best = value;
      best_at = at;
    }
    // Past the best order the moments only grow; two units beyond it nothing better is left.
    if (std::isfinite(best) && at > best_at + 2 && value > best) break;
  }
  const double golden = (std::sqrt(5.0) - 1) / 2;
  double a = std::fmax(kFirst, best_at - cell), b = std::fmin(kLast, best_at + cell);
  double x1 = b - golden * (b - a), x2 = a + golden * (b - a);
  double f1 = Evaluate(f, x1), f2 = Evaluate(f, x2);
  for (int i = 0; i < kGoldenSteps; ++i) {
    if (i % 8 == 0) RETURN_IF_ERROR(limits.Check());
    if (f1 < f2) {
      b = x2;
      x2 = x1;
      f2 = f1;
      x1 = b - golden * (b - a);
      f1 = Evaluate(f, x1);
    } else {
      a = x1;
      x1 = x2;
      f1 = f2;
      x2 = a + golden * (b - a);
      f2 = Evaluate(f, x2);
    }
    if (std::fmin(f1, f2) < best) {
      best = std::fmin(f1, f2);
      best_at = f1 < f2 ? x1 : x2;
    }
  }
  return 1 + std::exp(best_at);
}

absl::StatusOr<Converted> EpsilonFromCurve(const Curve& curve, double delta, const Limits& limits) {
  const double log_delta = LogDown(delta);
  const auto epsilon_at = [&](double order) { return EpsilonAt(curve, order, log_delta); };
  ASSIGN_OR_RETURN(const double order, BestOrder(epsilon_at, limits));
  const double epsilon = epsilon_at(order);
  return Converted{std::isnan(epsilon) ? kInfinity : std::fmax(0, epsilon), order};
}

absl::StatusOr<Converted> DeltaFromCurve(const Curve& curve, double epsilon, const Limits& limits) {
  const auto log_delta_at = [&](double order) { return LogDeltaAt(curve, order, epsilon); };
  ASSIGN_OR_RETURN(const double order, BestOrder(log_delta_at, limits));
  const double log_delta = log_delta_at(order);
  return Converted{std::isnan(log_delta) ? 1 : std::fmin(1, ExpUp(log_delta)), order};
}

}  // namespace dpledger::accountant::rdp
