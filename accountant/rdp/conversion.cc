#include "accountant/rdp/conversion.h"

#include <algorithm>
#include <cmath>

#include "accountant/numeric/constants.h"
#include "accountant/numeric/root.h"
#include "accountant/numeric/rounding.h"

namespace dpledger::accountant::rdp {
namespace {

// Relative accuracy of the best s of two points (kOfS): ε is flat there, and misses its least by a
// part in 10^10 up to δ = .7. The greatest s tried is short of 1, where nothing is finite. The
// search ends at an s that names one this near to itself (kNamedAgain): the next would be nearer by
// the same factor.
constexpr double kOfS = 1e-7, kGreatestS = 1 - 1e-15, kNamedAgain = 1e-3;

// A few roundings up of a sum of terms of this size.
double WithRounding(double value, double magnitude) {
  return value + 8 * kUnitRoundoff * (std::fabs(value) + magnitude);
}

// (P - e^ε Q)+ <= c P^α Q^{1-α} at every outcome, with the least such c (Canonne, Kamath, Steinke
// 2020, prop. 12). It needs no mass to be one.
double PointwiseEpsilon(double divergence, double order, double log_delta) {
  const double tail = (log_delta + std::log(order)) / (order - 1);
  return WithRounding(divergence + std::log1p(-1 / order) - tail,
                      std::fabs(divergence) + std::fabs(std::log1p(-1 / order)) +
                          (std::fabs(log_delta) + std::log(order)) / (order - 1));
}

double PointwiseLogDelta(double divergence, double order, double epsilon) {
  const double value =
      (order - 1) * (divergence - epsilon) + order * std::log1p(-1 / order) - std::log(order - 1);
  return WithRounding(value, (order - 1) * (std::fabs(divergence) + epsilon) -
                                 order * std::log1p(-1 / order) + std::fabs(std::log(order - 1)));
}

// 1 - α x^{α-1} + (α-1) x^α at x = 1 - s, from above: the Taylor bound where s is small.
double Gap(double order, double s) {
  const double log_x = std::log1p(-s);
  const double taylor =
      order * (order - 1) / 2 * s * s * std::fmax(1, std::exp((order - 2) * log_x));
  const double exponent = (order - 1) * log_x + std::log1p((order - 1) * s);
  const double direct =
      -std::expm1(exponent) + 8 * kUnitRoundoff * (1 + (order - 1) * (std::fabs(log_x) + s));
  return std::fmin(WithRounding(taylor, 0), direct);
}

// ε by the tangent from a two-point pair whose lower ratio P/Q is x = 1 - s (CLAIM.md, "two
// points"). Any s in [0, 1) is valid.
struct TwoPoints {
  double epsilon;
  double next_s;  // what the pair's masses say that s should be
};
TwoPoints TwoPointEpsilon(double divergence, double order, double log_delta, double failure,
                          double s) {
  const double log_moment = NextUp(NextUp((order - 1) * divergence));
  const double log_x = std::log1p(-s);
  const double beyond_one = (s > 0 ? Gap(order, s) : 0) + MulUp(order, failure);
  // log(M - 1 + beyond_one), where M may be past doubles.
  double log_excess;
  if (log_moment > 600) {
    log_excess = AddUp(log_moment, beyond_one * 1e-200);  // log(1 + x e^{-600})
  } else {
    const double excess = AddUp(NextUp(NextUp(NextUp(std::expm1(log_moment)))), NextUp(beyond_one));
    if (!(excess > 0)) return {log_x, 0};  // nothing is left: δ(x) <= 0
    log_excess = std::log(excess);
  }
  const double log_order = std::log(order);
  const double ratio = order / (order - 1);
  const double l = log_excess - log_order - log_delta;
  const double l_size = std::fabs(log_excess) + log_order + std::fabs(log_delta) + 1;
  const double tilted = l - (order - 1) * log_x;
  const double rise = tilted > 40 ? tilted + std::exp(-tilted) : std::log1p(std::exp(tilted));
  const double d = ratio * rise;
  const double log_expm1 = d > 1 ? d + std::log1p(-std::exp(-d)) : std::log(std::expm1(d));
  const double epsilon = WithRounding(
      log_expm1 + order * log_x - std::log(ratio) - l,
      (1 + ratio) * (l_size + order * std::fabs(log_x)) + d + 1 + std::fabs(std::log(ratio)));
  // The pair that meets this: x1 = P/Q on the revealing outcome, with P-mass p and Q-mass q there.
  const double log_x1 = log_x + rise / (order - 1);
  const double p = std::exp(log_delta) / -std::expm1(std::fmin(0, epsilon - log_x1));
  const double q = p * std::exp(-log_x1);
  return {epsilon, p < 1 ? std::fmax(0, (p - q) / (1 - q)) : 1};
}

// δ(0) is the total variation: at most sqrt(1 - e^{-KL}) (Bretagnolle, Huber 1979) and sqrt(KL/2)
// (Pinsker), and KL <= R.
double TotalVariationSquared(double divergence) {
  return NextUp(NextUp(NextUp(std::fmin(divergence / 2, -std::expm1(-divergence)))));
}

}  // namespace

double EpsilonAt(double divergence, double order, double log_delta, double failure) {
  if (!(divergence < kInfinity)) return kInfinity;
  double best = PointwiseEpsilon(divergence, order, log_delta);
  const double delta = std::exp(log_delta);
  if (failure == 0 && divergence >= 0) {
    if (TotalVariationSquared(divergence) <= NextDown(ExpDown(log_delta) * ExpDown(log_delta)))
      return 0;
  }
  // The pointwise bound with P allowed on the right: P - e^ε Q <= c P^α Q^{1-α} + a P, with the
  // best a = (αδ - 1)/(α - 1) >= 0.
  if (order * delta > 1.000001) {
    best = std::fmin(best, WithRounding(divergence + std::log1p(-delta),
                                        std::fabs(divergence) + delta / (1 - delta) + 1));
  }
  // A lower ratio away from one matters only to the share (αδ)² of the excess. The best s is the
  // one that the pair's own masses name: where little matters, to ask them twice comes near enough.
  const double matters = order * delta;
  const auto next = [&](double s) {
    const TwoPoints found = TwoPointEpsilon(divergence, order, log_delta, failure, s);
    best = std::fmin(best, found.epsilon);
    return found.next_s;
  };
  double s = next(0);
  bool settled = !(matters > 1e-6 && s > 0);
  for (int i = 0; i < 2 && !settled && matters < 0.01 && s < 1; ++i) {
    const double named = next(s);
    settled = std::fabs(named - s) <= kNamedAgain * s;
    s = named;
  }
  if (!settled) BracketDecreasing([&](double at) { return next(at) - at; }, 0, kGreatestS, kOfS);
  return std::isnan(best) ? kInfinity : best;
}

double LogDeltaAt(double divergence, double order, double epsilon, double failure) {
  if (!(divergence < kInfinity)) return 0;
  double best = std::fmin(0, PointwiseLogDelta(divergence, order, epsilon));
  if (failure == 0 && divergence >= 0) {
    best = std::fmin(best, NextUp(LogUp(TotalVariationSquared(divergence)) / 2));
  }
  if (std::isnan(best)) return 0;
  if (!std::isfinite(best)) return best;
  const auto too_small = [&](double log_delta) {
    return EpsilonAt(divergence, order, log_delta, failure) - epsilon;
  };
  if (!(too_small(best) <= 0)) return best;
  double low = best - 0.25;
  while (low > -1e6 && !(too_small(low) > 0)) low = best - 4 * (best - low);
  if (!(low > -1e6)) return std::fmax(low, -1e6);
  return BracketDecreasing(too_small, low, best, 1e-11).second;
}

}  // namespace dpledger::accountant::rdp
