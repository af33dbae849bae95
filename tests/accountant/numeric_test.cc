#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <random>
#include <vector>

#include "accountant/numeric/normal.h"
#include "accountant/numeric/root.h"
#include "accountant/numeric/rounding.h"

namespace dpledger::accountant {
namespace {

TEST(Rounding, BoundsContainTheExactResult) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform(-10, 10);
  for (int i = 0; i < 10000; ++i) {
    const double a = uniform(random), b = uniform(random);
    const long double sum = static_cast<long double>(a) + b,
                      product = static_cast<long double>(a) * b;
    EXPECT_LT(AddDown(a, b), sum);
    EXPECT_GT(AddUp(a, b), sum);
    EXPECT_LT(MulDown(a, b), product);
    EXPECT_GT(MulUp(a, b), product);
    EXPECT_LT(DivDown(a, b), static_cast<long double>(a) / b);
    EXPECT_GT(DivUp(a, b), static_cast<long double>(a) / b);
    EXPECT_LT(ExpDown(a), std::exp(static_cast<long double>(a)));
    EXPECT_GT(ExpUp(a), std::exp(static_cast<long double>(a)));
  }
}

struct TailValue {
  double x;
  double log_tail;  // log Φ(-x), mpmath at 40 digits
};
constexpr TailValue kTails[] = {{-10, -7.6198530241605260704e-24}, {-1, -0.17275377902344988953},
                                {0, -0.69314718055994530942},      {0.5, -1.1759117615936186089},
                                {1, -1.8410216450092635058},       {4.9, -14.551182689355312642},
                                {5.1, -15.588487091871465665},     {8, -35.013437159914549896},
                                {37, -689.0305855768905936},       {100, -5005.5242086942050886}};

TEST(NormalTail, MatchesFortyDigitValues) {
  for (const auto& [x, log_tail] : kTails) {
    EXPECT_NEAR(LogNormalTail(x), log_tail, kNormalTailError + 4e-16 * std::fabs(log_tail)) << x;
    if (x < 37.5) {
      EXPECT_NEAR(std::log(NormalTail(x)), log_tail, kNormalTailError + 4e-16 * std::fabs(log_tail))
          << x;
    }
  }
}

TEST(NormalTail, MillsRatioHasNoSeamAtTheContinuedFraction) {
  const double below = MillsRatio(5), above = MillsRatio(std::nextafter(5.0, 6.0));
  EXPECT_NEAR(above / below, 1, kNormalTailError);
}

TEST(NormalTail, MillsRatioHasTermsEnough) {
  for (double x = 5.01; x < 40; x *= 1.07) {
    long double fraction = x;
    for (int k = 400; k >= 1; --k) fraction = x + k / fraction;
    EXPECT_NEAR(static_cast<double>(MillsRatio(x) * fraction), 1, 1e-15) << x;
  }
}

TEST(NormalTail, InverseReturnsToItsArgument) {
  for (const double p : {0.7, 0.5, 0.1, 1e-5, 1e-20, 1e-250}) {
    EXPECT_NEAR(NormalTail(NormalTailInverse(p)) / p, 1, 1e-6) << p;
  }
}

TEST(Root, BracketsEndAtEvaluatedPointsOfBothSigns) {
  const auto f = [](double x) { return 2 - x * x; };
  const auto [positive, negative] = BracketDecreasing(f, 0, 10, 1e-15);
  EXPECT_GT(f(positive), 0);
  EXPECT_LE(f(negative), 0);
  EXPECT_NEAR(positive, std::sqrt(2.0), 1e-14);
  EXPECT_NEAR(negative, std::sqrt(2.0), 1e-14);
}

// TOMS 748 stops when it hits an exact zero; the positive end was then left where it last was.
TEST(Root, AnExactZeroDoesNotLeaveTheBracketWide) {
  const auto f = [](double x) { return x < 2 ? 1 - x / 2 : (x == 2 ? 0.0 : -1.0); };
  const auto [positive, negative] = BracketDecreasing(f, 0, 4, 1e-12);
  EXPECT_LE(negative - positive, 1e-10);
  EXPECT_GT(f(positive), 0);
  EXPECT_LE(f(negative), 0);
}

// The probe's step underflowed to 0 there, and the search had no end.
TEST(Root, EndsWhereOnlyZeroIsPositive) {
  const auto f = [](double x) { return x > 0 ? -1.0 : 1.0; };
  const auto [positive, negative] = BracketDecreasing(f, 0, 1e-6, 1e-10);
  EXPECT_EQ(positive, 0);
  EXPECT_LE(f(negative), 0);
}

}  // namespace
}  // namespace dpledger::accountant
