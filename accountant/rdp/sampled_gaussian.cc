#include "accountant/rdp/sampled_gaussian.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "accountant/numeric/rounding.h"
#include "accountant/numeric/sampled_loss.h"
#include "accountant/numeric/small_differences.h"

namespace dpledger::accountant::rdp {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kPi = 3.14159265358979323846;
constexpr double kLogSqrtTwoPi = 0.91893853320467274178;
constexpr double kGreatestNodes = 1 << 20;
// e^{-kDigits} is the quadrature's relative error: 1e-17, below the roundoff of the sum.
constexpr double kDigits = 39.2;

// The trapezoid's step. f(t) = φ(t)(1+u(t))^α is analytic for |Im t| < π/μ and |f(t + ia)| <=
// e^{a²/2} f(t) there, so the relative error is at most 2 e^{a²/2}/(e^{2πa/h} - 1) (Trefethen and
// Weideman 2014, thm. 5.1). `digits` is -log of the wanted error.
double Step(double mu, double digits) {
  const double a = std::fmin(0.99 * kPi / mu, std::sqrt(2 * digits));
  return 2 * kPi * a / (digits + 0.7 + a * a / 2);
}

// For A(α) near 1: sums G = A - 1 = E[(1+u)^α - 1 - αu], whose terms are O(u²), so that nothing is
// lost to the 1 (E[u] = 0 exactly, and the trapezoid's error on φ and φu is covered by the same
// strip bound).
double LogMomentNearOne(double q, double mu, double alpha, double digits, double first,
                        double last) {
  const double h = Step(mu, digits);
  double sum = 0, absolute = 0;
  for (double i = std::floor(first / h); i * h <= last; ++i) {
    const double t = i * h;
    const double u = q * std::expm1(mu * t - mu * mu / 2);
    const double log_ratio = std::log1p(u);
    const double exponent = -0.5 * t * t - kLogSqrtTwoPi;
    const double weight = std::exp(exponent), y = alpha * log_ratio;
    // Far out e^y overflows where φ e^y does not.
    const double convex =
        y > 1 ? std::exp(exponent + y) - weight * (1 + y) : weight * ExpM1MinusX(y);
    const double concave = weight * alpha * Log1PMinusX(u);
    sum += convex + concave;
    absolute += (convex - concave) * (1 + 0.5 * t * t + mu * std::fabs(t) + std::fmax(0, y));
  }
  const double nodes = (last - first) / h;
  // Rounding, and the quadrature's own error on E[(1+u)^α] < 2, E[1] and α E[|u|] <= 2αq.
  const double error =
      h * absolute * (16 + nodes) * kUnitRoundoff + 3 * (1 + alpha * q) * std::exp(-digits);
  return NextUp(std::log1p(h * sum + error) * (1 + 8 * kUnitRoundoff));
}

// log A(α) by a log-domain sum of positive terms.
double LogMomentFarFromOne(double q, double mu, double alpha, double h, double first, double last) {
  const double log_q = std::log(q);
  std::vector<double> logs;
  double greatest = -kInfinity, magnitude = 0;
  for (double i = std::floor(first / h); i * h <= last; ++i) {
    const double t = i * h;
    const double y = mu * t - mu * mu / 2;
    const double log_ratio = SampledLoss(q, y);
    logs.push_back(alpha * log_ratio - 0.5 * t * t);
    if (logs.back() > greatest) {
      greatest = logs.back();
      magnitude = alpha * std::fabs(log_ratio) + t * t +
                  alpha * (std::fabs(y) + mu * mu + std::fabs(log_q));
    }
  }
  double sum = 0;
  for (double value : logs) sum += std::exp(value - greatest);
  // The tail past `last`: the log-integrand falls with slope at least t - αμ >= 10 there (its other
  // part rises with slope at most αμ), so it holds at most a tenth of its first value.
  sum += 0.1 * std::exp(logs.back() - greatest) / h;
  const double value = greatest + std::log(sum * h) - kLogSqrtTwoPi;
  const double error = kUnitRoundoff * (16 + static_cast<double>(logs.size()) + 8 * magnitude +
                                        4 * std::fabs(value));
  return value + error;
}

}  // namespace

double LogMomentUp(double q, double mu, double alpha) {
  if (q == 1) return MulUp(MulUp(alpha, NextUp(alpha - 1)), MulUp(mu, mu)) / 2;
  // Right end: see the tail bound above. Left end: f <= φ there, so Φ(-11) = 2e-28 is lost, times
  // at most α²q² near 1.
  const double first = -11, last = alpha * mu + 11;
  const double h = Step(mu, kDigits);
  if (!((last - first) / h < kGreatestNodes)) return kInfinity;
  const double far = LogMomentFarFromOne(q, mu, alpha, h, first, last);
  if (!(far < 0.5)) return far;
  // A is near one, where the digits of log A are those of A - 1. `far` tells its size: how fine the
  // step must be.
  const double digits = kDigits + 7 - std::log(std::fmax(far, 1e-300));
  if (!((last - first) / Step(mu, digits) < kGreatestNodes)) return far;
  const double near = LogMomentNearOne(q, mu, alpha, digits, first, last);
  return std::isfinite(near) ? std::fmin(near, far) : far;
}

}  // namespace dpledger::accountant::rdp
