// The profile of random allocation when a record is replaced, at one ε after the other: against
// quadrature (oracle/replaced_allocation.py), closed forms, simulation and a prototype's intervals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "accountant/allocation/doubling.h"
#include "accountant/allocation/replaced.h"
#include "tests/accountant/exact_gaussian.h"
#include "tests/accountant/replaced_intervals.h"

namespace dpledger::accountant::allocation {
namespace {

using ::testing::HasSubstr;

struct Both {
  ReplacedAbove above;
  ReplacedBelow below;
};
Both At(const Rounds& rounds, double epsilon, double mesh, double tail = 1e-15) {
  const auto above = DeltaAbove(rounds, epsilon, mesh, tail, {});
  const auto below = DeltaBelow(rounds, epsilon, mesh, tail, {});
  EXPECT_TRUE(above.ok()) << above.status();
  EXPECT_TRUE(below.ok()) << below.status();
  return {*above, *below};
}

TEST(ReplacedLaw, FewRoundsMeetQuadrature) {
  const struct {
    uint64_t rounds, missing;
    double z, epsilon, delta;
  } rows[] = {
      {2, 0, 1, 0, 0.520499877813},      {2, 0, 1, 1, 0.286208211922},
      {2, 0, 1, 4, 0.00583801310997},    {2, 0, 0.5, 3, 0.504309875158},
      {2, 0, 0.5, 12, 0.00108425119362}, {2, 0, 3, 0.25, 0.0993056337312},
      {2, 0, 3, 2, 2.9634750126e-6},     {3, 0, 1, 0.5, 0.304100916068},
      {3, 0, 1, 3, 0.00722402220226},    {3, 0, 0.5, 6, 0.058843564164},
      {3, 0, 3, 1, 0.000922018901313},   {2, 1, 1, 1, 0.0933579749693},
      {3, 1, 1, 1, 0.0922938831013},     {3, 2, 2, 0.5, 0.0117068951038},
  };
  for (const auto& row : rows) {
    const Both at = At({row.rounds, 1 / row.z, row.missing}, row.epsilon, 0.01, 1e-18);
    EXPECT_LE(at.below.delta, row.delta * (1 + 1e-11)) << row.rounds << " " << row.z;
    EXPECT_GE(at.above.delta, row.delta * (1 - 1e-11)) << row.rounds << " " << row.z;
    EXPECT_LE(at.above.delta - at.below.delta, 2e-2 * row.delta) << row.rounds << " " << row.z;
    // The control: noise that is 2 % off is seen.
    EXPECT_GT(At({row.rounds, 1.02 / row.z, row.missing}, row.epsilon, 0.01).below.delta,
              row.delta);
    EXPECT_LT(At({row.rounds, 0.98 / row.z, row.missing}, row.epsilon, 0.01).above.delta,
              row.delta);
  }
}

// Of one round the two records are 2/z apart; from the smallest δ to the greatest.
TEST(ReplacedLaw, OneRoundIsTheGaussianMechanism) {
  for (const double z : {0.2, 0.5, 1.0, 30.0, 1e6}) {
    const long double distance = 2 / static_cast<long double>(z);
    for (const double normal : {-3.0, 0.5, 7.0, 30.0}) {
      if (z < 0.5 && normal > 7) continue;  // beyond doubles
      const double epsilon =
          static_cast<double>(distance) * (normal + static_cast<double>(distance) / 2);
      if (epsilon < 0) continue;
      const double truth = static_cast<double>(exact::RemoveDelta(1, distance, epsilon));
      if (truth < 1e-250) continue;
      const Both at = At({1, 1 / z}, epsilon, 0.01, 1e-6 * truth);
      EXPECT_LE(at.below.delta, truth * (1 + 1e-9)) << z << " " << epsilon;
      EXPECT_GE(at.above.delta, truth * (1 - 1e-9)) << z << " " << epsilon;
      EXPECT_LE(at.above.delta - at.below.delta, 0.05 * truth) << z << " " << epsilon;
      // The test says yes from ε/(2μ) on, up to what is cut.
      const double level = static_cast<double>(exact::NormalTail(
          epsilon / static_cast<long double>(distance) + static_cast<long double>(distance) / 2));
      EXPECT_NEAR(at.below.level, level, 1e-5 * level) << z << " " << epsilon;
    }
  }
}

// The outcomes lie where a normal density is below the least double.
TEST(ReplacedLaw, MassesBelowTheLeastDoubleAreCounted) {
  for (const double outcome : {37.0, 38.5, 39.0, 39.5}) {
    const double epsilon = 8 * outcome;
    const double truth = static_cast<double>(exact::RemoveDelta(1, 8, epsilon));
    const Both at = At({1, 4}, epsilon, 0.01, 1e-285);
    EXPECT_GE(at.above.delta, truth * (1 - 1e-9)) << outcome;
    EXPECT_LE(at.below.delta, truth * (1 + 1e-9)) << outcome;
  }
}

// From a prototype that shares nothing with this code, at δ = 1e-6: the true ε is in [low, high].
TEST(ReplacedLaw, ManyRoundsMeetPrototypeIntervals) {
  for (const auto& row : kReplacedIntervals) {
    EXPECT_GE(At({row.rounds, 1}, row.low, 0.02).above.delta, 1e-6) << row.rounds;
    EXPECT_LE(At({row.rounds, 1}, row.high, 0.02).below.delta, 1e-6) << row.rounds;
    // Within half a percent of ε.
    EXPECT_GE(At({row.rounds, 1}, 0.995 * row.low, 0.02).below.delta, 1e-6) << row.rounds;
    EXPECT_LE(At({row.rounds, 1}, 1.005 * row.high, 0.02).above.delta, 1e-6) << row.rounds;
    // The control: with one record added or removed in place of replaced, at half of the distance,
    // the profile would be far less.
    const auto one_way = UpperLaw({row.rounds, 1}, 0.02, 1e-15, {});
    ASSERT_TRUE(one_way.ok());
    double remove = one_way->p_cut;
    for (size_t j = 0; j < one_way->q.size(); ++j)
      remove += one_way->q[j] * std::fmax(0, one_way->ratio[j] - std::exp(row.low));
    EXPECT_LT(remove, 5e-7) << row.rounds;
  }
}

// A second opinion where nothing is small: 40 rounds of much noise and of little, by simulation of
// the loss with the record, its standard error beside it.
TEST(ReplacedLaw, MeetsSimulation) {
  std::mt19937_64 bits(20261123);
  std::normal_distribution<double> normal;
  for (const auto& [z, epsilon] : {std::pair{2.0, 0.3}, std::pair{0.3, 5.0}}) {
    const double mu = 1 / z;
    double sum = 0, squares = 0;
    const int samples = 20000;
    for (int i = 0; i < samples; ++i) {
      double with = 0, other = 0;
      for (int round = 0; round < 40; ++round) {
        const double x = normal(bits) + (round == 0 ? mu : 0);
        with += std::exp(mu * x);
        other += std::exp(-mu * x);
      }
      const double value = std::fmax(0, 1 - std::exp(epsilon) * other / with);
      sum += value;
      squares += value * value;
    }
    const double mean = sum / samples;
    const double error = std::sqrt((squares / samples - mean * mean) / samples);
    const Both at = At({40, mu}, epsilon, 0.03);
    EXPECT_LT(at.below.delta, mean + 5 * error) << z;
    EXPECT_GT(at.above.delta, mean - 5 * error) << z;
    EXPECT_LT(at.above.delta - at.below.delta, 0.02 * mean) << z;
    // The control: ε that is .1 off shows.
    EXPECT_GT(At({40, mu}, epsilon - 0.1, 0.03).below.delta, mean + 3 * error) << z;
  }
}

// The tests are what they say: lines below the profile at every other ε, best at their own.
TEST(ReplacedLaw, ATestBoundsTheWholeProfile) {
  const Rounds rounds{1000, 1};
  for (const double at : {0.0, 0.1, 0.25}) {
    const ReplacedBelow test = At(rounds, at, 0.02).below;
    EXPECT_NEAR(test.power - std::exp(at) * test.level, test.delta, 1e-6 * test.delta);
    for (const double epsilon : {0.0, 0.05, at + 1e-3, 0.15, 0.2, 0.3}) {
      const Both there = At(rounds, epsilon, 0.02);
      EXPECT_LE(test.power - std::exp(epsilon) * test.level, there.above.delta) << at;
      // Close by it is tangent.
      if (epsilon == at + 1e-3) {
        EXPECT_GE(test.power - std::exp(epsilon) * test.level, 0.99 * there.below.delta) << at;
      }
    }
  }
}

// E[s_+] of the sum has the order of its laws also where a mesh is as coarse as may be.
TEST(ReplacedLaw, CoarserLawsAreFurtherApart) {
  for (const auto& [rounds, mu, epsilon] :
       {std::tuple{7ul, 1.0, 1.0}, std::tuple{1000ul, 1.0, 0.2}, std::tuple{1000ul, 3.0, 4.0},
        std::tuple{1000000ul, 0.1, 1e-4}}) {
    const Both fine = At({rounds, mu}, epsilon, 0.03), coarse = At({rounds, mu}, epsilon, 0.3);
    EXPECT_GT(coarse.above.delta, fine.above.delta) << rounds;
    EXPECT_LT(coarse.below.delta, fine.below.delta) << rounds;
    EXPECT_LE(fine.below.delta, fine.above.delta) << rounds;
  }
}

// What is cut counts above: of a great tail the bound is at least that much greater, and no less
// than the truth.
TEST(ReplacedLaw, WhatIsCutCounts) {
  for (const uint64_t rounds : {2ul, 1000ul}) {
    const double epsilon = rounds == 2 ? 6 : 0.4;
    const double exact = At({rounds, 1}, epsilon, 0.02, 1e-20).below.delta;
    const Both cut = At({rounds, 1}, epsilon, 0.02, 0.05);
    EXPECT_LT(cut.below.delta, 0.5 * exact) << rounds;
    EXPECT_GT(cut.above.delta, 0.005) << rounds;
    EXPECT_LT(cut.above.delta, 0.2) << rounds;
  }
}

// Of an upper law all mass is there or counted as cut, also what sums leave out; P-mass of the one
// engine's other kind of round, whose mean is kept.
TEST(ReplacedLaw, NothingIsLeftOutUncounted) {
  for (const uint64_t rounds : {64ul, 1000ul}) {
    const double tail = 1e-3, t = static_cast<double>(rounds);
    Doubling<Opposed> opposed(Bound::kUpper, rounds, {1, 0.2, t, 0}, 0.05, tail);
    Doubling<Ratio> ratio(Bound::kUpper, rounds, {1, t}, 0.05, tail);
    const auto signed_sum = opposed.Sum({}), sum = ratio.Sum({});
    ASSERT_TRUE(signed_sum.ok() && sum.ok());
    double left_signed = 1 - opposed.q_cut(), left_q = 1 - ratio.q_cut(), left_p = 1;
    for (const double q : signed_sum->q) left_signed -= q;
    for (size_t j = 0; j < sum->q.size(); ++j) {
      left_q -= sum->q[j];
      left_p -= sum->q[j] * sum->place[j] / t;
    }
    // Second order of what is cut of a round may be counted twice.
    EXPECT_LE(left_signed, 1e-9) << rounds;
    EXPECT_GE(left_signed, -1e-6) << rounds;
    EXPECT_LE(left_q, 1e-9) << rounds;
    EXPECT_GE(left_q, -1e-6) << rounds;
    EXPECT_LE(left_p, ratio.p_cut()) << rounds;
    EXPECT_GE(left_p, 0.5 * ratio.p_cut()) << rounds;
    EXPECT_GE(opposed.p_cut(), opposed.q_cut()) << rounds;
  }
}

TEST(ReplacedLaw, ManyRoundsKeepTheirDigits) {
  // t = 10^12 at z = 10^3: the profile of a Gaussian of distance 2μ/√t, but for parts of 1e-6.
  const double distance = 2 * 1e-3 / 1e6, epsilon = 3 * distance;
  const double near = static_cast<double>(exact::RemoveDelta(1, distance, epsilon));
  const Both at = At({1000000000000, 1e-3}, epsilon, 0.05);
  EXPECT_GT(at.above.delta, 0.999 * near);
  EXPECT_LT(at.below.delta, 1.001 * near);
  EXPECT_GT(at.above.delta, 1.3 * at.below.delta * 0.5);
  // From 2^36 rounds on the law above is that of 2^36; below, rounding takes what there is.
  const Both most = At({uint64_t{1} << 53, 1}, 0, 0.05);
  EXPECT_GE(most.above.delta, At({uint64_t{1} << 36, 1}, 0, 0.05).below.delta);
  EXPECT_GE(most.below.delta, 0);
}

TEST(ReplacedLaw, TooLittleNoiseIsRefused) {
  for (const double epsilon : {0.0, 500.0}) {
    const auto above = DeltaAbove({10, 100}, epsilon, 0.1, 1e-10, {});
    EXPECT_EQ(above.status().code(), absl::StatusCode::kResourceExhausted);
    EXPECT_THAT(std::string(above.status().message()), HasSubstr("raise the noise multiplier"));
    EXPECT_EQ(DeltaBelow({10, 100}, epsilon, 0.1, 1e-10, {}).status().code(),
              absl::StatusCode::kResourceExhausted);
  }
}

TEST(ReplacedLaw, ObeysLimits) {
  Limits stopped;
  stopped.cancelled = [] { return true; };
  EXPECT_EQ(DeltaAbove({1000, 1}, 0.1, 0.1, 1e-10, stopped).status().code(),
            absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace dpledger::accountant::allocation
