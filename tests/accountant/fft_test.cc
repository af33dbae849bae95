// The transform, once for each implementation (CMakeLists.txt): both have to pass the same tests.
#include "accountant/numeric/fft.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <complex>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "accountant/numeric/fft_plans.h"
#include "accountant/numeric/rounding.h"

namespace dpledger::accountant {
namespace {

TEST(Fft, SizesAreFewAndAtMostAThirdTooLarge) {
  EXPECT_EQ(NextFastSize(2), 8u);
  EXPECT_EQ(NextFastSize(9), 10u);
  EXPECT_EQ(NextFastSize(11), 12u);
  EXPECT_EQ(NextFastSize(13), 16u);
  std::set<size_t> sizes;
  for (size_t n = 64; n <= 4096; ++n) {
    const size_t size = NextFastSize(n);
    EXPECT_GE(size, n);
    EXPECT_LT(static_cast<double>(size), 4.0 / 3 * static_cast<double>(n));
    sizes.insert(size);
  }
  EXPECT_EQ(sizes.size(), 19u);  // 64, and three for each of six doublings
}

// The bound of pld/CLAIM.md: against the sum itself in long double, for sizes of every
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

// A unit impulse at j has the roots e^{-2πi jk/N} for a spectrum: nothing averages a bad root out.
TEST(Fft, AnImpulseHasTheRootsOfUnity) {
  const long double tau = 2 * std::acos(-1.0L);
  for (const size_t n : {2u, 4u, 6u, 10u, 16u, 30u, 120u, 1080u, 6750u, 1u << 14}) {
    const RealFft fft(n);
    double worst = 0;
    for (size_t j = 0; j < n; j += 1 + n / 23) {
      std::vector<double> x(n);
      x[j] = 1;
      const std::vector<std::complex<double>> f = fft.Forward(x);
      ASSERT_EQ(f.size(), n / 2 + 1);
      for (size_t k = 0; k <= n / 2; ++k) {
        const long double angle =
            tau * static_cast<long double>(j * k % n) / static_cast<long double>(n);
        const std::complex<long double> root{std::cos(angle), -std::sin(angle)};
        worst =
            std::fmax(worst, static_cast<double>(std::abs(std::complex<long double>(f[k]) - root)));
      }
    }
    EXPECT_LE(worst, FftRelativeError(n)) << n;
    EXPECT_LE(worst, 10 * kUnitRoundoff) << n;
  }
}

// An impulse of the spectrum is a cosine; the imaginary parts that a real transform has not are not
// read.
TEST(Fft, TheInverseOfAnImpulseIsACosine) {
  const long double tau = 2 * std::acos(-1.0L);
  for (const size_t n : {6u, 120u, 1080u}) {
    const RealFft fft(n);
    for (size_t k = 0; k <= n / 2; k += 1 + n / 23) {
      std::vector<std::complex<double>> f(n / 2 + 1);
      f[k] = 1;
      f[0] += std::complex<double>(0, 5);
      const std::vector<double> x = fft.Inverse(f);
      const long double weight = k == 0 || k == n / 2 ? 1 : 2;
      for (size_t j = 0; j < n; ++j) {
        const long double exact = weight / static_cast<long double>(n) *
                                  std::cos(tau * static_cast<long double>(j * k % n) / n);
        EXPECT_NEAR(x[j], static_cast<double>(exact),
                    FftRelativeError(n) * static_cast<double>(weight) / static_cast<double>(n));
      }
    }
  }
}

// The errors that are measured are far below their bounds, so nothing but this notices a bound that
// has lost its margin.
TEST(Fft, TheBoundIsThatOfTheClaim) {
#if defined(DPLEDGER_OWN_FFT)
  // 512 = 4·4·4·4·2, 540 = 4·3·3·3·5.
  EXPECT_NEAR(FftRelativeError(1024) / kUnitRoundoff,
              1.001 * (std::sqrt(2.0) * (4 * 5.3 + 4.3) + 10), 1e-9);
  EXPECT_NEAR(FftRelativeError(1080) / kUnitRoundoff,
              1.001 * (std::sqrt(2.0) * (5.3 + 3 * 7.9 + 10.7) + 10), 1e-9);
#else
  EXPECT_EQ(FftRelativeError(1024), 40 * kUnitRoundoff);
  EXPECT_EQ(FftRelativeError(1080), 44 * kUnitRoundoff);
#endif
}

// A plan that counts the points of all that there are.
struct CountedPlan {
  explicit CountedPlan(size_t n) : size(n) { points += size; }
  ~CountedPlan() { points -= size; }
  size_t size;
  static std::atomic<size_t> points;
};
std::atomic<size_t> CountedPlan::points = 0;

// A server is asked about all sizes; their plans once filled its memory.
TEST(FftPlans, ThoseOfSizesUsedLatelyAreKept) {
  const auto first = PlanFor<CountedPlan>(64);
  EXPECT_EQ(PlanFor<CountedPlan>(64), first);
  for (size_t size = 1 << 20; size < (1 << 20) + 100; size += 2) {
    PlanFor<CountedPlan>(size);
    EXPECT_LE(CountedPlan::points, kKeptPoints + 64);
    EXPECT_EQ(PlanFor<CountedPlan>(size)->size, size);
  }
  EXPECT_GT(CountedPlan::points, kKeptPoints / 2);
  EXPECT_EQ(first->size, 64u);  // in use still, though it is kept no more
  EXPECT_NE(PlanFor<CountedPlan>(64), first);
  EXPECT_EQ(PlanFor<CountedPlan>(2 * kKeptPoints)->size, 2 * kKeptPoints);
  EXPECT_EQ(CountedPlan::points, 2 * kKeptPoints + 64);
}

TEST(FftPlans, ThreadsMayDropWhatOthersUse) {
  std::vector<std::thread> threads;
  for (size_t k = 0; k < 4; ++k) {
    threads.emplace_back([k] {
      std::vector<double> pulse(8);
      for (size_t size = 8; size < 4000; size += 2 * (k + 1)) {
        EXPECT_EQ(PlanFor<CountedPlan>(size * 1000)->size, size * 1000);
        pulse.assign(8, 0);
        pulse[k] = 1;
        EXPECT_NEAR(RealFft(8).Forward(pulse)[0].real(), 1, 1e-15);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace dpledger::accountant
