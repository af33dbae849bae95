#include "accountant/numeric/normal.h"

#include <cmath>

#include "accountant/numeric/constants.h"

namespace dpledger::accountant {
namespace {

constexpr double kSqrt2 = 1.4142135623730950488;
constexpr double kSqrtTwoPi = 2.5066282746310005024;
// Below this erfc is exact enough and far from underflow; above it the continued fraction needs few
// terms.
constexpr double kContinuedFractionFrom = 5;

// R(x) = 1/(x + 1/(x + 2/(x + 3/(x + ...)))) (Abramowitz and Stegun 26.2.14), evaluated from the
// far end. All terms are positive: the relative error is a few roundings. 28 terms reach 2e-18 at x
// = 5, 16 at 8 and 9 at 16; convergents are on both sides of the limit in turn, nearer with more.
double MillsByContinuedFraction(double x) {
  double fraction = x;
  for (int k = 5 + static_cast<int>(130 / x); k >= 1; --k) fraction = x + k / fraction;
  return 1 / fraction;
}

}  // namespace

double NormalDensity(double x) {
  // x² is split so that the exponential sees its rounding error: exp(-hi²/2)·exp(-(x-hi)(x+hi)/2).
  const double hi = std::round(x * 16) / 16;
  return std::exp(-0.5 * hi * hi) * std::exp(-0.5 * (x - hi) * (x + hi)) / kSqrtTwoPi;
}

double NormalTail(double x) {
  if (x > kContinuedFractionFrom) return NormalDensity(x) * MillsByContinuedFraction(x);
  return 0.5 * std::erfc(x / kSqrt2);
}

double LogNormalTail(double x) {
  if (x < -1) return std::log1p(-NormalTail(-x));
  if (x <= kContinuedFractionFrom) return std::log(NormalTail(x));
  return -0.5 * x * x - kLogSqrtTwoPi + std::log(MillsByContinuedFraction(x));
}

double MillsRatio(double x) {
  if (x > kContinuedFractionFrom) return MillsByContinuedFraction(x);
  return NormalTail(x) / NormalDensity(x);
}

double NormalTailInverse(double p) {
  if (p > 0.5) return -NormalTailInverse(1 - p);
  // Newton on log Φ(-x), whose derivative is -1/R(x); from the asymptotic x ~ sqrt(-2 log p).
  const double target = std::log(p);
  double x = std::sqrt(-2 * target);
  for (int i = 0; i < 60; ++i) {
    const double step = (LogNormalTail(x) - target) * MillsRatio(x);
    x += step;
    if (std::fabs(step) <= 1e-10 * (1 + x)) break;
  }
  return x;
}

}  // namespace dpledger::accountant
