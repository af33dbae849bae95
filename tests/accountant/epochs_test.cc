// Epochs of which not all rounds were run, or whose rounds differ in noise, against quadrature.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "accountant/accountant.h"
#include "accountant/filter/filter.h"
#include "accountant/mechanism/composition.h"
#include "tests/support/sampled_cases.h"

namespace dpledger::accountant {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Rounds of one epoch of random allocation, by their noise.
Composition Allocated(uint64_t rounds, const std::vector<double>& noises) {
  History history;
  for (size_t i = 0; i < noises.size(); ++i) {
    history.Add("w", SamplingEvent{i, {0, RandomAllocation{rounds, 0}}});
    history.Add("w", SumQueryEvent{i, {"g", 1, noises[i]}});
  }
  const auto composition = Resolve(history, Adjacency::kAddOrRemoveOne);
  EXPECT_TRUE(composition.ok()) << composition.status();
  return *composition;
}

Interval EpsilonOf(const Composition& composition, double delta = 1e-5) {
  const auto answer = ComputeEpsilon(composition, delta, {.relative_gap = 1e-3});
  EXPECT_TRUE(answer.ok()) << answer.status();
  return answer->value;
}

long double Tail(long double x) { return 0.5L * std::erfc(x / std::sqrt(2.0L)); }

// E[(rest + share·r - y)_+] of r = e^{μx - μ²/2}, x standard normal.
long double OneRound(long double rest, long double share, long double mu, long double y) {
  const long double c = (y - rest) / share;
  if (c <= 0) return rest + share - y;
  return share * (Tail(std::log(c) / mu - mu / 2) - c * Tail(std::log(c) / mu + mu / 2));
}

// E_Q[(r - y)_+] of an epoch of which one or two rounds were run: r is the mean over all rounds of
// their likelihood ratios, one for those that were not. The second round by the trapezoidal rule,
// whose error falls faster than any power here.
long double Excess(uint64_t rounds, const std::vector<double>& noises, long double y) {
  const long double share = 1.0L / static_cast<long double>(rounds);
  const long double rest = 1 - share * static_cast<long double>(noises.size());
  const long double mu = 1 / static_cast<long double>(noises[0]);
  if (noises.size() == 1) return OneRound(rest, share, mu, y);
  const long double other = 1 / static_cast<long double>(noises[1]), step = 1.0L / 256;
  long double sum = 0;
  for (long double x = -14; x <= 14 + other; x += step) {
    const long double ratio = std::exp(other * x - other * other / 2);
    sum += OneRound(rest + share * ratio, share, mu, y) * std::exp(-x * x / 2);
  }
  return sum * step / std::sqrt(2 * std::acos(-1.0L));
}

double TruthOf(uint64_t rounds, const std::vector<double>& noises, double epsilon,
               Direction direction) {
  const long double y = std::exp(static_cast<long double>(epsilon));
  const long double delta = direction == Direction::kRemove
                                ? Excess(rounds, noises, y)
                                : y * (Excess(rounds, noises, 1 / y) - 1 + 1 / y);
  return static_cast<double>(delta);
}

struct Case {
  uint64_t rounds;
  std::vector<double> noises;
};

// Five of a hundred rounds: simulated, ε(1e-6) is about 3.34. Each of three epochs composes.
TEST(Epochs, SeveralContributionsAreBounded) {
  const auto epsilon_of = [](uint64_t epochs) {
    History history;
    for (uint64_t epoch = 0; epoch < epochs; ++epoch) {
      const SamplingScheme scheme{0, RandomAllocation{100, epoch, 5, false}};
      history.Add("w", RoundsEvent{{scheme, {{"g", 1, 1}}}, 100});
    }
    return EpsilonOf(*Resolve(history, Adjacency::kAddOrRemoveOne), 1e-6);
  };
  const Interval one = epsilon_of(1), three = epsilon_of(3);
  EXPECT_GT(one.lower(), 3.2);
  EXPECT_LT(one.lower(), 3.40);
  EXPECT_GT(one.upper(), 3.30);
  EXPECT_LE(one.RelativeGap(), 0.07);
  EXPECT_LE(three.RelativeGap(), 0.06);
  EXPECT_GT(three.lower(), one.upper());
}

// One of 10 rounds was once answered [0.6220, 0.6221], where the truth is 0.369.
TEST(Epochs, PartOfAnEpochMeetsQuadrature) {
  const Case cases[] = {{10, {2}}, {2, {0.5}}, {3, {1, 1}}, {10, {2, 2}}, {50, {0.5, 0.5}}};
  for (const Case& c : cases) {
    const Composition composition = Allocated(c.rounds, c.noises);
    EXPECT_THAT(composition.warnings, IsEmpty());
    for (const double epsilon : {0.01, 0.1, 1.0}) {
      for (const Direction direction : {Direction::kRemove, Direction::kAdd}) {
        const double truth = TruthOf(c.rounds, c.noises, epsilon, direction);
        if (truth < 1e-12) continue;
        const auto delta = ComputeDelta(composition, epsilon, {.relative_gap = 1e-3}, direction);
        ASSERT_TRUE(delta.ok()) << delta.status();
        EXPECT_LE(delta->value.lower(), truth * (1 + 1e-9)) << c.rounds << " " << epsilon;
        EXPECT_GE(delta->value.upper(), truth * (1 - 1e-9)) << c.rounds << " " << epsilon;
        // (Near the greatest loss little is left of δ.)
        if (truth > 1e-4) {
          EXPECT_LE(delta->value.RelativeGap(), 5e-3) << c.rounds << " " << epsilon;
        }
      }
    }
  }
}

TEST(Epochs, OneRoundOfManyIsAPoissonRound) {
  History poisson;
  poisson.Add("w", RoundsEvent{{{0, PoissonSampling{0.1}}, {{"g", 1, 2}}}, 1});
  const Interval exact = EpsilonOf(*Resolve(poisson, Adjacency::kAddOrRemoveOne));
  const Interval found = EpsilonOf(Allocated(10, {2}));
  EXPECT_LE(found.lower(), exact.upper());
  EXPECT_GE(found.upper(), exact.lower());
  EXPECT_LE(found.upper(), 1.002 * exact.upper());
}

TEST(Epochs, MoreRoundsOfAnEpochRevealMore) {
  double before = 0;
  for (const size_t run : {1, 2, 5, 9, 10}) {
    const Interval epsilon = EpsilonOf(Allocated(10, std::vector<double>(run, 1)));
    EXPECT_GT(epsilon.lower(), before) << run;
    before = epsilon.upper();
  }
}

// A record takes part with probability q = n/t. Its round is not told, which reveals no more than
// if it were: one Gaussian on a sample of rate q. Nor less than the outputs' sum over √n, where it
// moves the mean by 1/(z√n), or one round alone.
TEST(Epochs, PartOfAnEpochIsBetweenSampledGaussians) {
  const auto sampled = [](double q, double z) {
    Composition composition;
    composition.steps.push_back({q, {z, z}, 1});
    return composition;
  };
  const struct {
    uint64_t rounds;
    size_t run;
    double z;
  } cases[] = {{2, 1, 0.1}, {3, 2, 0.1},    {3, 2, 20},    {10, 7, 0.3},
               {50, 10, 5}, {64, 63, 1},    {100, 1, 0.4}, {100, 50, 0.5},
               {500, 3, 2}, {1000, 500, 1}, {1000, 10, 1}};
  dpledger::testing::SampledCases taken(2);
  for (const auto& c : cases) {
    const double t = static_cast<double>(c.rounds), n = static_cast<double>(c.run);
    const Composition part = Allocated(c.rounds, std::vector<double>(c.run, c.z));
    const Composition above = sampled(n / t, c.z);
    const Composition sum = sampled(n / t, c.z * std::sqrt(n)), single = sampled(1 / t, c.z);
    for (const double epsilon : {0.001, 0.1, 1.0, 5.0}) {
      if (!taken.Next()) continue;
      const auto of = [epsilon](const Composition& composition) {
        const auto delta = ComputeDelta(composition, epsilon, {.relative_gap = 1e-2});
        EXPECT_TRUE(delta.ok()) << delta.status();
        return delta->value;
      };
      const Interval found = of(part);
      EXPECT_LE(found.lower(), of(above).upper()) << t << " " << n << " " << c.z << " " << epsilon;
      EXPECT_GE(found.upper(), of(sum).lower()) << t << " " << n << " " << c.z << " " << epsilon;
      EXPECT_GE(found.upper(), of(single).lower()) << t << " " << n << " " << c.z << " " << epsilon;
    }
  }
}

TEST(Epochs, UnevenNoiseIsBoundedFromBothSides) {
  const Case cases[] = {{2, {1, 8}}, {2, {1, 1.2}}, {3, {0.5, 3}}, {20, {2, 1}}};
  for (const Case& c : cases) {
    const Composition composition = Allocated(c.rounds, c.noises);
    EXPECT_THAT(composition.warnings, Contains(HasSubstr("differ in noise")));
    for (const double epsilon : {0.01, 0.1, 1.0}) {
      for (const Direction direction : {Direction::kRemove, Direction::kAdd}) {
        const double truth = TruthOf(c.rounds, c.noises, epsilon, direction);
        if (truth < 1e-12) continue;
        const auto delta = ComputeDelta(composition, epsilon, {.relative_gap = 1e-3}, direction);
        ASSERT_TRUE(delta.ok()) << delta.status();
        EXPECT_LE(delta->value.lower(), truth * (1 + 1e-9)) << c.rounds << " " << epsilon;
        EXPECT_GE(delta->value.upper(), truth * (1 - 1e-9)) << c.rounds << " " << epsilon;
      }
    }
  }
}

// Once answered [2.18877, 2.18894]. One Poisson round of rate 0.1 and z = 1 beside one unsampled
// Gaussian of z = 8 cost 1.727, and are at least as revealing.
// Two queries of σ 2 have the noise of one of √2, whose double is next to theirs.
TEST(Epochs, RoundsOfOneNoiseByTwoRoadsAreAlike) {
  for (const SamplingScheme& scheme :
       {SamplingScheme{0, RandomAllocation{4, 0}}, SamplingScheme{0, DisjointBatches{4, 0}}}) {
    const auto epoch = [&](const std::vector<std::vector<double>>& noises) {
      History history;
      for (size_t i = 0; i < noises.size(); ++i) {
        history.Add("w", SamplingEvent{i, scheme});
        for (size_t query = 0; query < noises[i].size(); ++query)
          history.Add("w", SumQueryEvent{i, {std::string(1, 'a' + query), 1, noises[i][query]}});
      }
      const auto composition = Resolve(history, Adjacency::kZeroOut);
      EXPECT_TRUE(composition.ok()) << composition.status();
      EXPECT_THAT(composition->warnings, IsEmpty());
      return EpsilonOf(*composition);
    };
    const double root = std::sqrt(2.0);
    const Interval one_way = epoch({{root}, {root}, {root}, {root}});
    const Interval both_ways = epoch({{2, 2}, {root}, {2, 2}, {root}});
    EXPECT_LT(both_ways.RelativeGap(), 1e-3);
    EXPECT_NEAR(both_ways.upper(), one_way.upper(), 1e-6 * one_way.upper());
  }
}

TEST(Epochs, OneRoundOfLittleNoiseIsNotTakenForAll) {
  std::vector<double> noises(10, 8);
  noises[3] = 1;
  const Interval epsilon = EpsilonOf(Allocated(10, noises));
  const Interval alone = EpsilonOf(Allocated(10, {1}));
  EXPECT_LE(epsilon.upper(), 1.727);
  EXPECT_GE(epsilon.upper(), alone.upper());
  EXPECT_LE(epsilon.lower(), alone.upper());
  EXPECT_GE(epsilon.lower(), 0.999 * alone.lower());
}

TEST(Epochs, RenyiDivergencesOfPartOfAnEpochAreAboveItsProfile) {
  for (const std::vector<double>& noises : {std::vector<double>{1}, std::vector<double>{1, 1}}) {
    const Composition composition = Allocated(10, noises);
    for (const double epsilon : {0.1, 0.5, 1.0}) {
      const auto delta = ComputeDelta(composition, epsilon, {.method = Method::kRdp});
      ASSERT_TRUE(delta.ok()) << delta.status();
      const double truth = TruthOf(10, noises, epsilon, Direction::kRemove);
      EXPECT_GE(delta->value.upper(), truth);
      EXPECT_LE(delta->value.upper(), 12 * truth) << epsilon;
    }
  }
}

// Two whole epochs of unlike noise under one number are two; anything else beyond an epoch's rounds
// is whole epochs of the least noise.
TEST(Epochs, MoreRoundsThanAnEpochHasAreWholeEpochs) {
  const auto of = [](SamplingScheme scheme, std::vector<std::pair<uint64_t, double>> rounds) {
    History history;
    for (const auto& [count, z] : rounds)
      history.Add("w", RoundsEvent{{scheme, {{"g", 1, z}}}, count});
    return *Resolve(history, Adjacency::kZeroOut);
  };
  const SamplingScheme allocation{0, RandomAllocation{4, 0}}, batches{0, DisjointBatches{4, 0}};
  const Composition regular = of(allocation, {{4, 1}, {8, 2}});
  ASSERT_EQ(regular.allocations.size(), 2u);
  EXPECT_EQ(regular.allocations[1].count, 2u);
  EXPECT_THAT(regular.warnings, IsEmpty());

  const Composition allocated = of(allocation, {{6, 1}, {3, 2}});
  ASSERT_EQ(allocated.allocations.size(), 1u);
  EXPECT_EQ(allocated.allocations[0].count, 3u);
  EXPECT_EQ(allocated.allocations[0].missing, 0u);
  EXPECT_EQ(allocated.allocations[0].noise_multiplier.lower(), 1);
  EXPECT_THAT(allocated.warnings, Contains(HasSubstr("more rounds than it should")));
  EXPECT_EQ(EpsilonOf(allocated).lower(), 0);

  const Composition disjoint = of(batches, {{6, 1}, {3, 2}});
  ASSERT_EQ(disjoint.steps.size(), 1u);
  EXPECT_EQ(disjoint.steps[0].count, 3u);
  EXPECT_EQ(disjoint.steps[0].noise_multiplier.lower(), 1);
  EXPECT_EQ(disjoint.steps[0].noise_multiplier.upper(), 2);
  EXPECT_THAT(disjoint.warnings, Contains(HasSubstr("more rounds than it should")));
  // Of one epoch the worst record is known: it is in the batch of the least noise.
  const Composition begun = of(batches, {{1, 2}, {2, 1}});
  EXPECT_EQ(begun.steps.at(0).count, 1u);
  EXPECT_EQ(begun.steps.at(0).noise_multiplier.upper(), 1);
  EXPECT_THAT(begun.warnings, IsEmpty());
}

// A setting whose finer answer was once wider: its grid says less of the lower end.
TEST(Epochs, AFinerGapIsNoWider) {
  History history;
  history.Add("w", RoundsEvent{{{0, RandomAllocation{4, 0}}, {{"g", 1, 0.7296518888804684}}}, 4});
  const auto composition = Resolve(history, Adjacency::kReplaceOne);
  ASSERT_TRUE(composition.ok()) << composition.status();
  double width = 100;
  for (const double gap : {1e-2, 1e-3, 1e-4, 1e-6, 1e-9}) {
    const auto answer = ComputeEpsilon(*composition, 1.21e-10, {.relative_gap = gap});
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_LE(answer->value.upper() - answer->value.lower(), width) << gap;
    width = answer->value.upper() - answer->value.lower();
  }
}

// A run that may stop within an epoch for what it saw spends the whole of it.
TEST(Epochs, AFilterCountsAnEpochAsWholeFromItsFirstRound) {
  const filter::Filter rdp = filter::RdpFilter{8, 100};
  const auto spent = [&](const Composition& composition) {
    return *filter::Spent(rdp, composition, {});
  };
  EXPECT_EQ(spent(Allocated(10, {2})), spent(Allocated(10, std::vector<double>(10, 2))));
}

}  // namespace
}  // namespace dpledger::accountant
