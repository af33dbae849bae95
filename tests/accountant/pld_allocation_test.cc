// Random allocation against quadrature, closed forms and published intervals.
#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "accountant/allocation/ratio_law.h"
#include "accountant/gaussian/gaussian.h"
#include "accountant/pld/discrete_pair.h"
#include "accountant/pld/pld.h"

namespace dpledger::accountant {
namespace {

Composition Epochs(uint64_t rounds, double z, uint64_t count) {
  Composition composition;
  composition.allocations.push_back({rounds, {z, z}, count});
  return composition;
}

long double Tail(long double x) { return 0.5L * std::erfc(x / std::sqrt(2.0L)); }

// E_Q[((r1 + r2)/2 - y)_+] for two rounds: the inner expectation in closed form, the outer by the
// trapezoidal rule, whose error falls faster than any power here.
long double TwoRounds(long double mu, long double y) {
  const long double step = 1.0L / 512;
  long double sum = 0;
  for (long double x = -14; x <= 14 + mu; x += step) {
    const long double r1 = std::exp(mu * x - mu * mu / 2), c = 2 * y - r1;
    const long double inner =
        c <= 0 ? (1 + r1) / 2 - y
               : (Tail(std::log(c) / mu - mu / 2) - c * Tail(std::log(c) / mu + mu / 2)) / 2;
    sum += inner * std::exp(-x * x / 2);
  }
  return sum * step / std::sqrt(2 * std::acos(-1.0L));
}

TEST(Allocation, TwoRoundsMeetQuadrature) {
  for (const double z : {0.5, 1.0, 3.0}) {
    for (const double epsilon : {0.0, 0.1, 1.0, 3.0}) {
      const long double y = std::exp(static_cast<long double>(epsilon));
      const long double remove = TwoRounds(1 / static_cast<long double>(z), y);
      // E_Q[(1 - e^ε r)_+] = e^ε E_Q[(1/y - r)_+] with the mean of r one
      const long double add = y * (TwoRounds(1 / static_cast<long double>(z), 1 / y) - 1 + 1 / y);
      for (const Direction direction : {Direction::kRemove, Direction::kAdd}) {
        const long double truth = direction == Direction::kRemove ? remove : add;
        if (truth < 1e-12L) continue;
        const auto bounds = pld::Delta(Epochs(2, z, 1), epsilon, 1e-3, {}, direction);
        ASSERT_TRUE(bounds.ok()) << bounds.status();
        EXPECT_LE(bounds->value.lower(), truth * (1 + 1e-9L)) << z << " " << epsilon;
        EXPECT_GE(bounds->value.upper(), truth * (1 - 1e-9L)) << z << " " << epsilon;
        EXPECT_LE(bounds->value.RelativeGap(), 2e-3) << z << " " << epsilon;
      }
    }
  }
}

// The control: two rounds with other noise are seen to be out.
TEST(Allocation, AnotherNoiseIsCaught) {
  const long double truth = TwoRounds(1, std::exp(1.0L));
  EXPECT_GT(pld::Delta(Epochs(2, 0.99, 1), 1, 1e-3, {}, Direction::kRemove)->value.lower(), truth);
  EXPECT_LT(pld::Delta(Epochs(2, 1.01, 1), 1, 1e-3, {}, Direction::kRemove)->value.upper(), truth);
}

TEST(Allocation, OneRoundIsTheGaussianMechanism) {
  Composition gaussian;
  gaussian.steps.push_back({1, {2, 2}, 5});
  const Interval exact = gaussian::Epsilon(gaussian, 1e-7);
  const auto bounds = pld::Epsilon(Epochs(1, 2, 5), 1e-7, 1e-3, {});
  ASSERT_TRUE(bounds.ok());
  EXPECT_LE(bounds->value.lower(), exact.upper());
  EXPECT_GE(bounds->value.upper(), exact.lower());
}

// Intervals published with arXiv 2602.17284's transform, one epoch, δ = 1e-8, remove.
TEST(Allocation, MeetsPublishedIntervals) {
  const struct {
    double z;
    uint64_t rounds;
    double lower, upper;
  } published[] = {{1, 8, 3.711, 3.726}, {1, 64, 1.792, 1.806}, {2, 64, 0.315, 0.345}};
  for (const auto& p : published) {
    const auto bounds = pld::Epsilon(Epochs(p.rounds, p.z, 1), 1e-8, 1e-3, {}, Direction::kRemove);
    ASSERT_TRUE(bounds.ok()) << bounds.status();
    EXPECT_GE(bounds->value.lower(), p.lower) << p.rounds;
    EXPECT_LE(bounds->value.upper(), p.upper) << p.rounds;
  }
}

// Many rounds and epochs, from a prototype that shares nothing with this code. A loss grid alone
// has too few points there: the interval was [0, 10.13] for the last row.
TEST(Allocation, ManyRoundsMeetPrototypeIntervals) {
  const struct {
    uint64_t rounds, epochs;
    double z, delta, lower, upper;
  } rows[] = {
      {64, 1, 1, 1e-8, 1.79862, 1.79874},        {128, 1, 1, 1e-8, 1.26117, 1.26162},
      {10000, 1, 0.5, 1e-6, 1.94186, 1.94197},   {1000000, 1, 1, 1e-6, 0.003674, 0.003675},
      {1000000, 1, 0.3, 1e-6, 6.96665, 6.96671}, {10000, 20, 1, 1e-8, 0.28295, 0.28306},
      {30000, 20, 1, 1e-8, 0.15901, 0.15907},
  };
  for (const auto& row : rows) {
    const auto bounds = pld::Epsilon(Epochs(row.rounds, row.z, row.epochs), row.delta, 1e-2, {});
    ASSERT_TRUE(bounds.ok()) << bounds.status();
    EXPECT_TRUE(bounds->met) << row.rounds;
    EXPECT_LE(bounds->value.lower(), row.upper) << row.rounds;
    EXPECT_GE(bounds->value.upper(), row.lower) << row.rounds;
    EXPECT_LE(bounds->value.RelativeGap(), 1e-2) << row.rounds;
  }
}

// Sampled with probability 1/t in every round, the record would be safer at a large δ: Poisson's ε
// is no bound for random allocation.
TEST(Allocation, PoissonSamplingIsNoBound) {
  for (const auto& [rounds, z, delta] :
       {std::tuple{10ul, 0.3, 0.3}, std::tuple{1000ul, 0.7, 0.03}}) {
    Composition poisson;
    poisson.steps.push_back({1 / static_cast<double>(rounds), {z, z}, rounds});
    const auto sampled = pld::Epsilon(poisson, delta, 1e-3, {});
    const auto allocated = pld::Epsilon(Epochs(rounds, z, 1), delta, 1e-3, {});
    ASSERT_TRUE(sampled.ok() && allocated.ok());
    EXPECT_GT(allocated->value.lower(), 1.1 * sampled->value.upper()) << rounds;
  }
}

// What a law leaves out is infinite above, in the direction in which it is, and left out below.
TEST(Allocation, WhatALawCutsIsInfinite) {
  const allocation::RatioLaw law{{0.5, 1, 2}, {0.25, 0.5, 1e-300}, 0.2, 0.1, 0};
  const auto shares = pld::Shares::Of(law, 0.01, 1000);
  ASSERT_TRUE(shares.ok()) << shares.status();
  EXPECT_GE(shares->Upper().remove_infinity, 0.1);
  EXPECT_NEAR(shares->Upper().remove_infinity, 0.1, 1e-12);
  EXPECT_GE(shares->Upper().add_infinity, 0.2);
  EXPECT_NEAR(shares->Upper().add_infinity, 0.2, 1e-12);
  EXPECT_EQ(shares->Lower().remove_infinity, 0);
  EXPECT_EQ(shares->Lower().add_infinity, 0);
}

// Where a round's loss leaves doubles, there is no loss grid: the answer says so.
TEST(Allocation, LoudNoiseHasNoGrid) {
  const auto bounds = pld::Epsilon(Epochs(10, 0.001, 1), 1e-6, 1e-2, {});
  ASSERT_TRUE(bounds.ok()) << bounds.status();
  EXPECT_FALSE(bounds->gridded);
  EXPECT_FALSE(pld::Delta(Epochs(10, 0.001, 1), 1, 1e-2, {})->gridded);
}

// Seven rounds are no power of two; the mean of more ratios is less revealing.
TEST(Allocation, MoreRoundsRevealLess) {
  double before = 1e9;
  for (const uint64_t rounds : {1, 2, 3, 7, 8, 20}) {
    const auto bounds = pld::Epsilon(Epochs(rounds, 1, 1), 1e-6, 5e-3, {}, Direction::kRemove);
    ASSERT_TRUE(bounds.ok());
    EXPECT_LT(bounds->value.upper(), before) << rounds;
    before = bounds->value.lower();
  }
}

TEST(Allocation, EpochsComposeWithOtherSteps) {
  Composition both = Epochs(8, 2, 3);
  both.steps.push_back({0.01, {1, 1}, 100});
  Composition sampled;
  sampled.steps = both.steps;
  const auto together = pld::Epsilon(both, 1e-6, 1e-2, {});
  const auto alone = pld::Epsilon(Epochs(8, 2, 3), 1e-6, 1e-2, {});
  const auto rest = pld::Epsilon(sampled, 1e-6, 1e-2, {});
  ASSERT_TRUE(together.ok() && alone.ok() && rest.ok());
  EXPECT_GT(together->value.lower(), alone->value.upper());
  EXPECT_GT(together->value.lower(), rest->value.upper());
  EXPECT_LT(together->value.upper(), alone->value.upper() + rest->value.upper());
}

}  // namespace
}  // namespace dpledger::accountant
