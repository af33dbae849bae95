// The closed forms as bounds: questions so badly conditioned, or compositions so long, that
// rounding is seen, and the truth must still lie inside.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "accountant/gaussian/gaussian.h"
#include "accountant/gaussian/sampled_once.h"
#include "tests/accountant/exact_gaussian.h"

namespace dpledger::accountant::gaussian {
namespace {

using exact::Real;

Composition Once(double q, double z) {
  Composition composition;
  composition.steps.push_back({q, {z, z}, 1});
  return composition;
}

void ExpectContains(const Interval& found, Real truth, const char* what, double at,
                    double epsilon) {
  EXPECT_LE(found.lower(), truth) << what << " " << at << ", epsilon " << epsilon;
  EXPECT_GE(found.upper(), truth) << what << " " << at << ", epsilon " << epsilon;
}

// Near the greatest loss, -log(1 - q), a rounding of ε is a large part of what the loss may still
// rise by.
TEST(SampledOnceBounds, HoldAtTheEdgeOfTheAddDirection) {
  double widest = 0;
  for (const double q : {0.1, 0.5, 0.9, 1 - 0x1p-20, 1 - 0x1p-40}) {
    const double edge = -std::log1p(-q);
    for (int k = 4; k < 48; ++k) {
      const double epsilon = edge * (1 - std::ldexp(1, -k));
      // 1/z is exact: only the rounding of the formula is asked about.
      const Interval found = DeltaOnce(Once(q, 0.25), Direction::kAdd, epsilon);
      ExpectContains(found, exact::AddDelta(q, 4, epsilon), "add, q", q, epsilon);
      widest = std::fmax(widest, found.RelativeGap());
    }
  }
  EXPECT_GT(widest, 1e-6);
}

// Where μ is great, δ hangs on a small difference of great numbers, ε/μ - μ/2.
TEST(GaussianBounds, HoldWhereTheArgumentsOfTheTailsAreTheLargestError) {
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> uniform;
  for (int i = 0; i < 2000; ++i) {
    const double mu = 1e4 * (1 + uniform(random)),
                 epsilon = mu * (mu / 2 + 12 * uniform(random) - 4);
    const Real ratio = static_cast<Real>(epsilon) / mu, half = static_cast<Real>(mu) / 2;
    const Real a = ratio - half, b = ratio + half;
    // δ = Φ(-a) - φ(a) R(b), R(b) by its asymptotic series.
    const Real density = std::exp(-a * a / 2) / std::sqrt(2 * std::acos(-1.0L));
    const Real delta = exact::NormalTail(a) - density * (1 - (1 - 3 / (b * b)) / (b * b)) / b;
    ExpectContains(LogDelta(mu, epsilon), std::log(delta), "mu", mu, epsilon);
  }
}

// Where μ is so great that ε/μ - μ/2 has no digits left: it was believed all the same, and so was a
// δ nearer to 1 than it is.
TEST(GaussianBounds, HoldWhereTheArgumentsHaveNoDigitsLeft) {
  std::mt19937_64 random(12);
  std::uniform_real_distribution<double> uniform;
  int lost = 0;
  for (int i = 0; i < 4000; ++i) {
    const double mu = std::pow(10, 12 + 20 * uniform(random));
    double epsilon = mu * mu / 2;
    for (int steps = i % 5; steps > 0; --steps) epsilon = std::nextafter(epsilon, i % 2 * 1e300);
    // ε - μ²/2 by one fused rounding, as μ²/2 is exact in the product.
    const Real difference =
        -std::fma(static_cast<Real>(mu), static_cast<Real>(mu) / 2, -static_cast<Real>(epsilon));
    const Real a = difference / mu;
    const Interval found = LogDelta(mu, epsilon);
    // φ(a) R(b) is nothing: b > 1e12.
    const Real log_delta = a > 100 ? -a * a / 2
                           : a < 0 ? std::log1p(-exact::NormalTail(-a))
                                   : std::log(exact::NormalTail(a));
    EXPECT_LE(found.lower(), log_delta) << mu << " " << epsilon;
    EXPECT_GE(found.upper(), a > 100 ? log_delta - 2 * std::log(a) : log_delta)
        << mu << " " << epsilon;
    lost += std::isinf(found.lower());
  }
  EXPECT_GT(lost, 1000);
}

// After a step of μ² = 1 come 20,000 of about half a rounding each: to the nearest double, all of
// them are lost (0.45 of 2^-52) or count twice (0.55).
TEST(GaussianBounds, HoldWhereTheSumOfManySmallStepsIsTheLargestError) {
  constexpr int kSteps = 20000;
  for (const double share : {0.45, 0.55}) {
    const double z = 1 / std::sqrt(share * 0x1p-52);
    Composition composition = Once(1, 1);
    for (int i = 0; i < kSteps; ++i) composition.steps.push_back({1, {z, z}, 1});
    const Real mu = std::sqrt(1 + kSteps / (static_cast<Real>(z) * z));
    for (const double epsilon : {0.0, 1.0, 3.0}) {
      const Interval found = Delta(composition, epsilon);
      ExpectContains(found, exact::RemoveDelta(1, mu, epsilon), "share", share, epsilon);
    }
  }
}

}  // namespace
}  // namespace dpledger::accountant::gaussian
