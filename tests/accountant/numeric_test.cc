#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <random>
#include <vector>

#include "accountant/numeric/fft.h"
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

TEST(Fft, NextFastSizeIsTheLeastEvenSmoothNumber) {
  EXPECT_EQ(NextFastSize(2), 2u);
  EXPECT_EQ(NextFastSize(7), 8u);
  EXPECT_EQ(NextFastSize(11), 12u);
  EXPECT_EQ(NextFastSize(1025), 1080u);
  EXPECT_EQ(NextFastSize(2049), 2160u);
}

// TOMS 748 stops when it hits an exact zero; the positive end was then left where it last was.
TEST(Root, AnExactZeroDoesNotLeaveTheBracketWide) {
  const auto f = [](double x) { return x < 2 ? 1 - x / 2 : (x == 2 ? 0.0 : -1.0); };
  const auto [positive, negative] = BracketDecreasing(f, 0, 4, 1e-12);
  EXPECT_LE(negative - positive, 1e-10);
  EXPECT_GT(f(positive), 0);
  EXPECT_LE(f(negative), 0);
}

// The assumption on FFTW of pld/CLAIM.md: against the sum itself in long double, for sizes of every
// kind of factor and inputs as the accountant makes them (positive, summing to one) and spiky ones.
TEST(Fft, ErrorStaysWithinTheAssumedBound) {
  std::mt19937_64 random(7);
  std::exponential_distribution<double> exponential;
  double worst = 0;
  for (const size_t n : {64u, 96u, 120u, 250u, 1080u, 4096u, 6750u}) {
    for (int kind = 0; kind < 3; ++kind) {
      std::vector<double> x(n);
      double sum = 0;
      for (size_t j = 0; j < n; ++j) {
        const double at = (static_cast<double>(j) - 0.4 * static_cast<double>(n)) /
                          (0.05 * static_cast<double>(n));
        x[j] = kind == 0   ? std::exp(-at * at)
               : kind == 1 ? exponential(random)
                           : (j % 17 == 3 ? 1 : 1e-9);
        sum += x[j];
      }
      for (double& value : x) value /= sum;
      std::vector<double> input = x;
      const RealFft fft(n);
      std::vector<std::complex<double>> f = fft.Forward(input);
      // Twiddles once in long double; k·j mod n picks them.
      std::vector<std::complex<long double>> twiddle(n);
      const long double tau = 2 * std::acos(-1.0L);
      for (size_t j = 0; j < n; ++j) {
        twiddle[j] = {std::cos(tau * static_cast<long double>(j) / static_cast<long double>(n)),
                      -std::sin(tau * static_cast<long double>(j) / static_cast<long double>(n))};
      }
      for (size_t k = 0; k <= n / 2; k += 1 + n / 300) {
        std::complex<long double> exact = 0;
        for (size_t j = 0; j < n; ++j) exact += static_cast<long double>(x[j]) * twiddle[j * k % n];
        const double error = static_cast<double>(std::abs(std::complex<long double>(f[k]) - exact));
        worst = std::fmax(worst, error / FftRelativeError(n));
      }
      const std::vector<double> back = fft.Inverse(f);
      for (size_t j = 0; j < n; ++j) EXPECT_NEAR(back[j], x[j], 2 * FftRelativeError(n));
    }
  }
  EXPECT_LT(worst, 0.5) << "half of the bound is the margin that the claim counts on";
  EXPECT_GT(worst, 1e-4) << "an error this small means that the comparison is broken";
}

// FFTW's own errors are below 0.6 in place of the 4 wherever they were measured, so nothing but
// this notices a bound that has lost its margin.
TEST(Fft, TheAssumedBoundIsFourRoundoffsForEachDoubling) {
  EXPECT_EQ(FftRelativeError(1024), 40 * kUnitRoundoff);
  EXPECT_EQ(FftRelativeError(1080), 44 * kUnitRoundoff);
}

}  // namespace
}  // namespace dpledger::accountant
