// Random allocation under REPLACE_ONE, from events to answers: against quadrature
// (oracle/replaced_allocation.py), closed forms, a prototype and simulation.
#include "accountant/pld/replaced_epochs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <tuple>

#include "accountant/accountant.h"
#include "accountant/filter/filter.h"
#include "accountant/gaussian/gaussian.h"
#include "accountant/mechanism/composition.h"
#include "accountant/rdp/allocated_gaussian.h"
#include "base/status.h"
#include "tests/accountant/replaced_intervals.h"

namespace dpledger::accountant {
namespace {

using ::testing::HasSubstr;

struct Run {
  uint64_t rounds;
  double z;
  uint64_t epochs = 1, contributions = 1;
  bool fixed_bins = false;
};
History HistoryOf(const Run& run) {
  History history;
  for (uint64_t epoch = 0; epoch < run.epochs; ++epoch) {
    const SamplingScheme scheme{
        0, RandomAllocation{run.rounds, epoch, run.contributions, run.fixed_bins}};
    history.Add("w", RoundsEvent{{scheme, {{"g", 1, run.z}}}, run.rounds});
  }
  return history;
}
Composition Replaced(const History& history) {
  const auto composition = Resolve(history, Adjacency::kReplaceOne);
  EXPECT_TRUE(composition.ok()) << composition.status();
  return *composition;
}
Composition Replaced(const Run& run) { return Replaced(HistoryOf(run)); }
Interval EpsilonOf(const Composition& composition, double delta, double gap = 1e-2) {
  const auto answer = ComputeEpsilon(composition, delta, {.relative_gap = gap});
  EXPECT_TRUE(answer.ok()) << answer.status();
  return answer->value;
}
Interval DeltaOf(const Composition& composition, double epsilon, double gap = 1e-2) {
  const auto answer = ComputeDelta(composition, epsilon, {.relative_gap = gap});
  EXPECT_TRUE(answer.ok()) << answer.status();
  return answer->value;
}

TEST(ReplacedEpochs, MeetPrototypeIntervals) {
  for (const auto& row : kReplacedIntervals) {
    const Interval epsilon = EpsilonOf(Replaced({row.rounds, 1}), 1e-6);
    EXPECT_LE(epsilon.lower(), row.high) << row.rounds;
    EXPECT_GE(epsilon.upper(), row.low) << row.rounds;
    EXPECT_LE(epsilon.RelativeGap(), 1e-2) << row.rounds;
    // In both directions alike.
    const Composition epoch = Replaced({row.rounds, 1});
    for (const Direction direction : {Direction::kRemove, Direction::kAdd}) {
      const auto one = ComputeEpsilon(epoch, 1e-6, {.relative_gap = 1e-2}, direction);
      ASSERT_TRUE(one.ok()) << one.status();
      EXPECT_TRUE(one->value.upper() >= row.low && one->value.lower() <= row.high) << row.rounds;
    }
    // The controls: one record added or removed costs less, at twice its distance more.
    const auto added = [&](double z) {
      return EpsilonOf(*Resolve(HistoryOf({row.rounds, z}), Adjacency::kAddOrRemoveOne), 1e-6);
    };
    EXPECT_LT(added(1).upper(), row.low) << row.rounds;
    EXPECT_GT(added(0.5).lower(), row.high) << row.rounds;
  }
}

// Poisson sampling with probability 1/rounds is close where δ is small, and no bound: at a great δ
// it costs less.
TEST(ReplacedEpochs, PoissonSamplingIsNoBound) {
  for (const auto& [rounds, z, delta] :
       {std::tuple{10ul, 0.3, 0.3}, std::tuple{100ul, 0.5, 0.2}, std::tuple{1000ul, 0.7, 0.03}}) {
    History sampled;
    sampled.Add("w",
                RoundsEvent{{{0, PoissonSampling{1 / static_cast<double>(rounds)}}, {{"g", 1, z}}},
                            rounds});
    const Interval poisson = EpsilonOf(Replaced(sampled), delta, 1e-3);
    EXPECT_GT(EpsilonOf(Replaced({rounds, z}), delta, 1e-3).lower(), 1.01 * poisson.upper())
        << rounds;
  }
}

TEST(ReplacedEpochs, AMillionRoundsAreAnswered) {
  const Interval epsilon = EpsilonOf(Replaced({1000000, 1}), 1e-6);
  EXPECT_LE(epsilon.RelativeGap(), 1e-2);
  // Near the Gaussian of the same variance, whose ε is a little less.
  Composition gaussian;
  const double z = 1e3 / std::sqrt(4 * std::sinh(1));
  gaussian.steps.push_back({1, {z, z}, 1});
  const double near = gaussian::Epsilon(gaussian, 1e-6).lower();
  EXPECT_GT(epsilon.upper(), near);
  EXPECT_LT(epsilon.lower(), 1.01 * near);
}

TEST(ReplacedEpochs, FewRoundsMeetQuadrature) {
  const struct {
    uint64_t rounds;
    double z, epsilon, delta;
  } rows[] = {
      {2, 1, 1, 0.286208211922}, {2, 0.5, 12, 0.00108425119362}, {2, 3, 2, 2.9634750126e-6}};
  for (const auto& row : rows) {
    const Composition epoch = Replaced({row.rounds, row.z});
    const Interval delta = DeltaOf(epoch, row.epsilon, 1e-3);
    EXPECT_TRUE(delta.Contains(row.delta)) << row.z << " " << delta.lower() << " " << delta.upper();
    EXPECT_LE(delta.RelativeGap(), 1e-3) << row.z;
    const Interval epsilon = EpsilonOf(epoch, row.delta, 1e-3);
    EXPECT_TRUE(epsilon.Contains(row.epsilon)) << row.z;
    EXPECT_LE(epsilon.RelativeGap(), 1e-3) << row.z;
  }
}

// One round of a record in one epoch of one round is the Gaussian mechanism of twice the distance.
TEST(ReplacedEpochs, OneRoundIsUnsampled) {
  const Composition one = Replaced({1, 3, 4});
  ASSERT_TRUE(one.allocations.empty());
  ASSERT_EQ(one.steps.size(), 1u);
  EXPECT_EQ(one.steps[0].noise_multiplier.lower(), 1.5);
  EXPECT_EQ(one.steps[0].count, 4u);
}

// Four epochs of noise 2 in the same one of three rounds are one epoch of noise 1.
TEST(ReplacedEpochs, FixedBinsAddUp) {
  EXPECT_TRUE(DeltaOf(Replaced({3, 2, 4, 1, true}), 3, 1e-3).Contains(0.00722402220226));
  // The controls: another epoch, or bins drawn again.
  EXPECT_GT(DeltaOf(Replaced({3, 2, 5, 1, true}), 3).lower(), 0.008);
  EXPECT_LT(DeltaOf(Replaced({3, 2, 4, 1, false}), 3).upper(), 0.007);
}

// Of two rounds only the sum of the outputs counts, as r/r' = e^{μ(x_1 + x_2)}: epochs are Gaussian
// mechanisms of distance √2/z, whether bins are drawn again or not.
TEST(ReplacedEpochs, TwoRoundsAreAGaussianMechanism) {
  Composition gaussian;
  const double z = 3 / std::sqrt(2 * 5.0);
  gaussian.steps.push_back({1, {z, z}, 1});
  for (const double delta : {1e-12, 1e-6, 1e-2}) {
    const Interval exact = gaussian::Epsilon(gaussian, delta);
    for (const bool fixed_bins : {true, false}) {
      const Interval epsilon = EpsilonOf(Replaced({2, 3, 5, 1, fixed_bins}), delta);
      EXPECT_LE(epsilon.lower(), exact.upper()) << delta;
      EXPECT_GE(epsilon.upper(), exact.lower()) << delta;
      EXPECT_LE(epsilon.RelativeGap(), 2e-2) << delta;
    }
  }
}

// Two of three rounds: as many blocks are above, and what the sum of the outputs shows is below.
TEST(ReplacedEpochs, SeveralContributionsAreBounded) {
  const struct {
    double z, epsilon, delta;
  } rows[] = {{1, 1, 0.6136970751}, {1, 4, 0.1774108545}, {2, 1, 0.1841214928}};
  for (const auto& row : rows) {
    const Interval delta = DeltaOf(Replaced({3, row.z, 1, 2}), row.epsilon, 0.05);
    EXPECT_TRUE(delta.Contains(row.delta)) << delta.lower() << " " << delta.upper();
    EXPECT_LT(delta.upper(), 2.5 * row.delta) << row.z;
    EXPECT_GT(delta.lower(), 0.2 * row.delta) << row.z;
  }
}

// An unfinished epoch: what was not run shows nothing.
TEST(ReplacedEpochs, RoundsThatWereNotRunShowNothing) {
  History history;
  history.Add("w", RoundsEvent{{{0, RandomAllocation{3, 0}}, {{"g", 1, 1}}}, 2});
  EXPECT_TRUE(DeltaOf(Replaced(history), 1, 1e-3).Contains(0.0922938831013));
  // Of two noises: the interval is wide, and holds; simulated.
  History mixed;
  mixed.Add("w", RoundsEvent{{{0, RandomAllocation{4, 0}}, {{"g", 1, 1}}}, 2});
  mixed.Add("w", RoundsEvent{{{0, RandomAllocation{4, 0}}, {{"g", 1, 2}}}, 2});
  std::mt19937_64 bits(5);
  std::normal_distribution<double> normal;
  double sum = 0;
  const int samples = 200000;
  for (int i = 0; i < samples; ++i) {
    double with = 0, other = 0;
    for (int round = 0; round < 4; ++round) {
      const double mu = round < 2 ? 1 : 0.5;
      const double x = normal(bits) + (round == i % 4 ? mu : 0);
      with += std::exp(mu * x - mu * mu / 2);
      other += std::exp(-mu * x - mu * mu / 2);
    }
    sum += std::fmax(0, 1 - std::exp(1.0) * other / with);
  }
  const Interval delta = DeltaOf(Replaced(mixed), 1, 0.05);
  EXPECT_GT(delta.upper(), 0.97 * sum / samples);
  EXPECT_LT(delta.lower(), 1.03 * sum / samples);
  EXPECT_LT(delta.upper(), 2.5 * sum / samples);
}

// Beside a Gaussian mechanism of distance 1 between the two records.
TEST(ReplacedEpochs, ComposesWithAGaussian) {
  const struct { double epsilon, delta; } rows[] = {{1, 0.41118898}, {4, 0.033613435}};
  History history = HistoryOf({2, 1});
  history.Add("w", RoundsEvent{{{0, FullBatch{}}, {{"h", 1, 2}}}, 1});
  const Composition both = Replaced(history);
  for (const auto& row : rows) {
    const Interval delta = DeltaOf(both, row.epsilon, 1e-2);
    EXPECT_TRUE(delta.Contains(row.delta)) << delta.lower() << " " << delta.upper();
    EXPECT_LE(delta.RelativeGap(), 2e-2);
  }
}

// The mean, with its standard error, of (1 - e^{ε-loss})_+ over simulated losses of `run`.
struct Simulated {
  double mean, error;
};
Simulated SimulatedDelta(const Run& run, double epsilon, int samples) {
  const double mu = 1 / run.z;
  std::mt19937_64 bits(9);
  std::normal_distribution<double> normal;
  double sum = 0, squares = 0;
  for (int i = 0; i < samples; ++i) {
    double loss = 0;
    for (uint64_t epoch = 0; epoch < run.epochs; ++epoch) {
      double with = 0, other = 0;
      for (uint64_t round = 0; round < run.rounds; ++round) {
        const double x = normal(bits) + (round == 0 ? mu : 0);
        const double u = std::exp(mu * x);
        with += u;
        other += 1 / u;
      }
      loss += std::log(with / other);
    }
    const double value = std::fmax(0, 1 - std::exp(epsilon - loss));
    sum += value;
    squares += value * value;
  }
  const double mean = sum / samples;
  return {mean, std::sqrt((squares / samples - mean * mean) / samples)};
}

// Several epochs, of much noise and of little: between what simulation of their losses leaves, and
// of the stated width.
TEST(ReplacedEpochs, EpochsCompose) {
  const struct {
    accountant::Run run;
    double epsilon, gap;
    int samples;
  } rows[] = {{{50, 1.5, 10}, 0.7, 5e-2, 20000},
              {{100, 0.3, 3}, 18, 3e-2, 15000},
              {{1000, 0.5, 3}, 1, 3e-2, 4000}};
  for (const auto& row : rows) {
    const Interval delta = DeltaOf(Replaced(row.run), row.epsilon, 1e-2);
    EXPECT_LE(delta.RelativeGap(), row.gap) << row.run.rounds;
    const Simulated truth = SimulatedDelta(row.run, row.epsilon, row.samples);
    EXPECT_LT(truth.error, 0.1 * truth.mean) << row.run.rounds;
    EXPECT_LT(delta.lower(), truth.mean + 4 * truth.error) << row.run.rounds;
    EXPECT_GT(delta.upper(), truth.mean - 4 * truth.error) << row.run.rounds;
    // The control: an epoch more or less is out.
    accountant::Run more = row.run, less = row.run;
    ++more.epochs;
    --less.epochs;
    EXPECT_GT(DeltaOf(Replaced(more), row.epsilon, 3e-2).lower(), truth.mean + 2 * truth.error)
        << row.run.rounds;
    EXPECT_LT(DeltaOf(Replaced(less), row.epsilon, 3e-2).upper(), truth.mean - 2 * truth.error)
        << row.run.rounds;
  }
}

// Little noise makes rare, great losses: values of the profile are asked for where these count.
TEST(ReplacedEpochs, EpochsOfLittleNoiseAreNear) {
  EXPECT_LE(EpsilonOf(Replaced({1000000, 0.3, 3}), 1e-6, 1e-3).RelativeGap(), 1.2e-2);
  EXPECT_LE(EpsilonOf(Replaced({1000, 0.5, 3}), 1e-6, 1e-3).RelativeGap(), 8e-3);
  EXPECT_LE(EpsilonOf(Replaced({100, 0.3, 3}), 1e-6, 1e-3).RelativeGap(), 5e-3);
}

// Both pairs as pairs: no mass is lost or made, and the profile of one epoch lies between theirs
// where it was not asked for.
TEST(ReplacedEpochs, PairsBracketTheProfile) {
  const AllocatedGaussian epoch{100, {0.5, 0.5}, 1, 0, false, true};
  pld::EpochLaws laws;
  const auto pairs = pld::PairsOf(epoch, pld::Sides::kBoth, {0.08, 0.05, 1e-12, {}}, 1e9, laws, {});
  ASSERT_TRUE(pairs.ok()) << pairs.status();
  const auto profile = [](const Pair& pair, double epsilon) {
    double sum = 0;
    for (const Atom& atom : pair.atoms) sum += std::fmax(0, atom.p - std::exp(epsilon) * atom.q);
    return sum;
  };
  double above_all = 0, below_all = 0;
  for (const Atom& atom : pairs->upper.atoms) above_all += atom.p;
  for (const Atom& atom : pairs->lower.atoms) below_all += atom.p;
  EXPECT_NEAR(above_all, 1, 1e-9);
  EXPECT_GE(above_all, 1);
  EXPECT_NEAR(below_all, 1, 1e-9);
  EXPECT_LE(below_all, 1 + 1e-12);
  for (const double epsilon : {-0.9, -0.31, 0.0, 0.07, 0.3, 0.55, 0.83, 1.2}) {
    const double at = std::fabs(epsilon);
    const auto one = pld::DeltaOfOne(epoch, at, 1e-3, laws, {});
    ASSERT_TRUE(one.ok() && one->has_value());
    // δ(-ε) = 1 - e^{-ε} + e^{-ε} δ(ε).
    const auto mirrored = [&](double delta) {
      return epsilon >= 0 ? delta : -std::expm1(epsilon) + std::exp(epsilon) * delta;
    };
    EXPECT_GT(profile(pairs->upper, epsilon), mirrored((*one)->lower())) << epsilon;
    EXPECT_LT(profile(pairs->lower, epsilon), mirrored((*one)->upper())) << epsilon;
    EXPECT_LT(profile(pairs->upper, at), 1.6 * (*one)->upper()) << epsilon;
    EXPECT_GT(profile(pairs->lower, at), 0.6 * (*one)->lower()) << epsilon;
  }
}

// δ from the smallest to the greatest: an interval that holds, and no failure.
TEST(ReplacedEpochs, EveryDeltaIsAnswered) {
  const Composition epoch = Replaced({1000, 1});
  double before = 1e9;
  for (const double delta : {1e-300, 1e-250, 1e-30, 1e-9, 1e-3, 0.02, 0.5, 1 - 1e-9}) {
    const Interval epsilon = EpsilonOf(epoch, delta, 5e-2);
    EXPECT_LE(epsilon.lower(), epsilon.upper()) << delta;
    EXPECT_LE(epsilon.lower(), before) << delta;
    if (delta > 1e-280) {
      EXPECT_LE(epsilon.RelativeGap(), 5e-2) << delta;
    }
    before = epsilon.upper();
  }
  EXPECT_EQ(before, 0);
  for (const double z : {1e-3, 0.05, 1e6}) {
    const Interval epsilon = EpsilonOf(Replaced({100, z}), 1e-6);
    EXPECT_TRUE(epsilon.upper() >= 0 && std::isfinite(epsilon.upper())) << z;
  }
  EXPECT_EQ(EpsilonOf(epoch, 0).upper(), INFINITY);
}

// Rényi: no more than of one Gaussian, and less where there is much to hide among.
TEST(ReplacedEpochs, RenyiCurveBounds) {
  const rdp::AllocatedGaussianMoments moments(1000, 1);
  EXPECT_LE(moments.Replace(2), 4);
  EXPECT_LT(moments.Replace(1.5), 0.1);
  // Two rounds are a Gaussian mechanism of distance √2 μ.
  for (const double order : {1.01, 2.0, 7.5, 40.0})
    EXPECT_GE(rdp::AllocatedGaussianMoments(2, 0.5).Replace(order), order / 4) << order;
  // Of more there is no closed form: against δ, by what it converts to.
  const Composition epoch = Replaced({1000, 3});
  const auto by_rdp = ComputeEpsilon(epoch, 1e-6, {.method = Method::kRdp});
  ASSERT_TRUE(by_rdp.ok()) << by_rdp.status();
  const Interval exact = EpsilonOf(epoch, 1e-6);
  EXPECT_GT(by_rdp->value.upper(), exact.lower());
  EXPECT_LT(by_rdp->value.upper(), 3 * exact.upper());
}

TEST(ReplacedEpochs, AFilterCountsTwiceTheDistance) {
  const auto spent = [](Adjacency adjacency) {
    const Composition epoch = *Resolve(HistoryOf({100, 2}), adjacency);
    return *filter::Spent(filter::ZcdpFilter{1}, epoch, {});
  };
  EXPECT_NEAR(spent(Adjacency::kReplaceOne), 4 * spent(Adjacency::kAddOrRemoveOne), 1e-12);
}

TEST(ReplacedEpochs, GroupsAreRefusedByName) {
  Neighbours pairs(Adjacency::kReplaceOne);
  pairs.group_size = 2;
  const absl::Status status = Resolve(HistoryOf({10, 1}), pairs).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ReasonOf(status).reason, "NO_ANALYSIS");
  EXPECT_THAT(std::string(status.message()), HasSubstr("random_allocation"));
}

}  // namespace
}  // namespace dpledger::accountant
