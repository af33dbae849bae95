#include "accountant/profile/gaussian_fit.h"

#include <cmath>

#include "accountant/gaussian/gaussian.h"
#include "accountant/numeric/constants.h"
#include "accountant/numeric/normal.h"
#include "accountant/numeric/root.h"
#include "accountant/numeric/rounding.h"
#include "accountant/profile/trade_off.h"

namespace dpledger::accountant::profile {
namespace {

// log P(N > z) is read with this absolute error (numeric/normal.h, with room).
constexpr double kLogTailError = 4 * kNormalTailError;
// e^ε is computed within 2 ulp.
constexpr double kExpError = 1e-15;

// Moves from a near value outward until the tail is surely on the right side of p.
double QuantileFrom(double p, double sign) {
  double z = NormalTailInverse(p);
  double step = 1e-15 * (1 + std::fabs(z));
  for (int i = 0; i < 120; ++i, step *= 2) {
    const double log_tail = LogNormalTail(z);
    if (sign > 0 ? log_tail + kLogTailError <= LogDown(p) : log_tail - kLogTailError >= LogUp(p)) {
      return z;
    }
    z += sign * step;
  }
  return sign * kInfinity;
}

// δ_μ(ε) from below and above; μ = 0 reveals nothing.
Interval GaussianDelta(double mu, double epsilon) {
  if (!(mu > 0)) return {0, 0};
  if (std::isinf(mu)) return {1, 1};
  const Interval log_delta = gaussian::LogDelta(mu, epsilon);
  return {ExpDown(log_delta.lower()), std::fmin(1, ExpUp(log_delta.upper()))};
}

// A μ that is surely at least what the chord of δ between two points asks for. In x = e^ε the chord
// is TPR - x·FPR for one pair of error rates, and the profile of any test's curve through or below
// (FPR, 1 - TPR) is above the chord everywhere.
double MuForChord(const ProfilePoint& from, const ProfilePoint& to) {
  const double x0 = std::exp(from.epsilon), x1 = std::exp(to.epsilon);
  const double fall = NextDown(from.delta.upper() - to.delta.upper());
  if (fall <= 0) {
    // No line of a falling profile is flatter: a constant δ needs FPR = 0.
    return from.delta.upper() <= 0 ? 0 : kInfinity;
  }
  const double width_up = MulUp(NextUp(x1 - x0), 1 + 4 * kExpError * x1 / (x1 - x0));
  const double rate_down = DivDown(fall, width_up);  // FPR
  // TPR = δ0 + x0·FPR: from above, with FPR from above.
  const double width_down = MulDown(NextDown(x1 - x0), 1 - 4 * kExpError * x1 / (x1 - x0));
  const double rate_up = DivUp(NextUp(from.delta.upper() - to.delta.upper()), width_down);
  const double true_positive = AddUp(from.delta.upper(), MulUp(MulUp(x0, 1 + kExpError), rate_up));
  if (!(width_down > 0) || true_positive >= 1) return kInfinity;
  return std::fmax(0, NextUp(NormalQuantileUp(rate_down) - NormalQuantileDown(true_positive)));
}

// log δ_μ(ε) against a wanted value, as a function of μ that falls: positive while μ is surely too
// small (by the upper bound of δ_μ) or not surely large enough (by the lower).
double Lacking(double mu, double epsilon, double log_delta, bool surely) {
  const Interval found = gaussian::LogDelta(mu, epsilon);
  return log_delta - (surely ? found.upper() : found.lower());
}

// A μ that is surely at least what the step between two points asks for: δ is at most that of the
// first all along. Wider than the chord between distant points, and narrower between near ones,
// whose difference is lost in their bounds. `start` > 0 is where to look first.
double MuForStep(const ProfilePoint& from, const ProfilePoint& to, double start) {
  if (from.delta.upper() >= 1) return kInfinity;
  const double log_delta = LogUp(from.delta.upper());
  const auto lacking = [&](double mu) { return Lacking(mu, to.epsilon, log_delta, false); };
  double high = start;
  while (lacking(high) > 0 && high < 1e9) high *= 2;
  if (lacking(high) > 0) return kInfinity;
  double low = high / 2;
  while (lacking(low) <= 0 && low > 1e-9) low /= 2;
  return lacking(low) > 0 ? BracketDecreasing(lacking, low, high, 1e-9).second : low;
}

// A μ above `known` that is surely too small for this point, or `known`.
double MuTooSmall(const ProfilePoint& point, double known) {
  if (point.delta.lower() <= 0) return known;
  const double log_delta = LogDown(point.delta.lower());
  const auto lacking = [&](double mu) { return Lacking(mu, point.epsilon, log_delta, true); };
  const double low = std::fmax(1e-9, known * (1 + 1e-9));
  if (!(lacking(low) > 0)) return known;
  double high = 2 * low;
  while (lacking(high) > 0 && high < 1e9) high *= 2;
  return lacking(high) > 0 ? high : BracketDecreasing(lacking, low, high, 1e-9).first;
}

void SetRegret(const std::vector<ProfilePoint>& points, GaussianFit& fit) {
  std::vector<RiskPoint> risks;
  std::vector<double> other;
  double least = 0;
  for (const ProfilePoint& point : points) {
    risks.push_back(RiskAt(point.epsilon, point.delta));
    const Interval delta = GaussianDelta(fit.mu.upper(), point.epsilon);
    other.push_back(RiskAt(point.epsilon, delta).risk.lower());
    const double excess = NextDown(delta.lower() - point.delta.upper());
    least = std::fmax(least, DivDown(excess, NextUp(1 + risks.back().x)));
  }
  const RiskFunction::Widest greatest = RiskFunction(risks).GreatestExcess(other);
  fit.regret = {least, std::fmax(least, greatest.value)};
  fit.widest_regret = greatest.segment > 0 ? greatest.segment - 1 : 0;
}

}  // namespace

double NormalQuantileUp(double p) {
  if (!(p > 1e-300)) return kInfinity;
  if (p >= 1) return -kInfinity;
  return QuantileFrom(p, 1);
}

double NormalQuantileDown(double p) {
  if (p >= 1) return -kInfinity;
  if (!(p > 1e-300)) return NormalQuantileDown(1e-299);
  return QuantileFrom(p, -1);
}

GaussianFit FitGaussian(const std::vector<ProfilePoint>& points, double least_delta) {
  GaussianFit fit{{0, 0}, {0, 0}, least_delta, points.front().delta.upper()};
  for (size_t i = 0; i + 1 < points.size(); ++i) {
    double needed = MuForChord(points[i], points[i + 1]);
    if (needed > fit.mu.upper()) {
      const double start = std::isfinite(needed) ? needed : std::fmax(1, fit.mu.upper());
      needed = std::fmin(needed, MuForStep(points[i], points[i + 1], start));
    }
    if (needed > fit.mu.upper()) {
      fit.mu = {fit.mu.lower(), needed};
      fit.widest_mu = i;
    }
  }
  for (const ProfilePoint& point : points) {
    // Only an ε whose δ is surely in the range tells.
    if (point.delta.lower() >= least_delta) {
      fit.mu = {MuTooSmall(point, fit.mu.lower()), fit.mu.upper()};
    }
  }
  SetRegret(points, fit);
  return fit;
}

}  // namespace dpledger::accountant::profile
