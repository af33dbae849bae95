// Random allocation in which a record is in several rounds of an epoch, or in the same ones of
// every epoch: against quadrature (oracle/allocation_oracle.py), Monte Carlo and closed forms.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "accountant/accountant.h"
#include "accountant/filter/filter.h"
#include "accountant/mechanism/composition.h"

namespace dpledger::accountant {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

SamplingScheme Scheme(uint64_t rounds, uint64_t epoch, uint64_t contributions, bool fixed_bins) {
  return {0, RandomAllocation{rounds, epoch, contributions, fixed_bins}};
}
// `epochs` whole epochs, numbered from 0.
Composition Epochs(uint64_t rounds, uint64_t contributions, bool fixed_bins, uint64_t epochs,
                   double z) {
  History history;
  for (uint64_t epoch = 0; epoch < epochs; ++epoch) {
    history.Add("w", RoundsEvent{{Scheme(rounds, epoch, contributions, fixed_bins), {{"g", 1, z}}},
                                 rounds});
  }
  const auto composition = Resolve(history, Adjacency::kAddOrRemoveOne);
  EXPECT_TRUE(composition.ok()) << composition.status();
  return *composition;
}
Interval EpsilonOf(const Composition& composition, double delta) {
  const auto answer = ComputeEpsilon(composition, delta, {.relative_gap = 1e-3});
  EXPECT_TRUE(answer.ok()) << answer.status();
  return answer->value;
}
Interval DeltaOf(Direction direction, const Composition& composition, double epsilon) {
  const auto answer = ComputeDelta(composition, epsilon, {.relative_gap = 1e-3}, direction);
  EXPECT_TRUE(answer.ok()) << answer.status();
  return answer->value;
}

// Four epochs of noise 2 in the same one of two rounds are one epoch of noise 1.
TEST(FixedBins, NoiseOfAllEpochsAddsUp) {
  const Composition four = Epochs(2, 1, true, 4, 2);
  EXPECT_TRUE(DeltaOf(Direction::kRemove, four, 1).Contains(0.059206501086));
  EXPECT_TRUE(DeltaOf(Direction::kAdd, four, 1).Contains(0.050197662369));
  EXPECT_LE(DeltaOf(Direction::kRemove, four, 1).RelativeGap(), 2e-3);
  // The controls: another epoch, or bins drawn again.
  EXPECT_GT(DeltaOf(Direction::kRemove, Epochs(2, 1, true, 5, 2), 1).lower(), 0.0593);
  EXPECT_LT(DeltaOf(Direction::kRemove, Epochs(2, 1, false, 4, 2), 1).upper(), 0.0591);
}

// From another implementation, of the same pair.
TEST(FixedBins, MeetPrototypeIntervals) {
  const struct {
    uint64_t bins, epochs;
    double z, lower, upper;
  } rows[] = {
      {16, 2, 1, 5.76413, 5.76420}, {16, 4, 1, 9.97670, 9.97674}, {64, 4, 2, 1.79862, 1.79874}};
  for (const auto& row : rows) {
    const Interval epsilon = EpsilonOf(Epochs(row.bins, 1, true, row.epochs, row.z), 1e-8);
    EXPECT_LE(epsilon.lower(), row.upper) << row.bins;
    EXPECT_GE(epsilon.upper(), row.lower) << row.bins;
    EXPECT_LE(epsilon.RelativeGap(), 1e-3) << row.bins;
  }
}

// An epoch that was begun may have run any bin: the upper bound counts it, the lower one does not.
TEST(FixedBins, AnEpochBegunCountsAbove) {
  History history;
  for (uint64_t round = 0; round < 5; ++round) {  // of two rounds: two epochs and one round
    history.Add("w", SamplingEvent{round, Scheme(2, round / 2, 1, true)});
    history.Add("w", SumQueryEvent{round, {"g", 1, 2}});
  }
  const Composition begun = *Resolve(history, Adjacency::kAddOrRemoveOne);
  const Interval delta = DeltaOf(Direction::kRemove, begun, 1);
  EXPECT_LE(delta.lower(), DeltaOf(Direction::kRemove, Epochs(2, 1, true, 2, 2), 1).upper());
  EXPECT_GE(delta.lower(), 0.99 * DeltaOf(Direction::kRemove, Epochs(2, 1, true, 2, 2), 1).lower());
  EXPECT_GE(delta.upper(), DeltaOf(Direction::kRemove, Epochs(2, 1, true, 3, 2), 1).lower());
  // Two epochs of one round each may have run the same bin.
  History apart;
  for (uint64_t round = 0; round < 2; ++round) {
    apart.Add("w", SamplingEvent{round, Scheme(2, round, 1, true)});
    apart.Add("w", SumQueryEvent{round, {"g", 1, 2}});
  }
  const Composition twice = *Resolve(apart, Adjacency::kAddOrRemoveOne);
  EXPECT_GE(DeltaOf(Direction::kRemove, twice, 1).upper(),
            DeltaOf(Direction::kRemove, Epochs(2, 1, true, 2, 2), 1).lower());
}

// `parts` by one writer, each with its scheme, count and noise.
struct Part {
  SamplingScheme scheme;
  uint64_t count;
  double z;
  std::string owner = "w";
};
Composition Of(const std::vector<Part>& parts) {
  History history;
  for (const Part& part : parts) {
    history.Add(part.owner, RoundsEvent{{part.scheme, {{"g", 1, part.z}}}, part.count});
  }
  const auto composition = Resolve(history, Adjacency::kAddOrRemoveOne);
  EXPECT_TRUE(composition.ok()) << composition.status();
  return *composition;
}

// One draw for their writer, whatever an entry states: each field of the key alone. Ten rounds an
// epoch, noise 1, δ 1e-6: two epochs are one of noise 1/√2, [4.98964, 4.98983]. An entry that
// stated another population was another draw: 3.348.
TEST(FixedBins, AreOneDrawWhateverEntriesState) {
  const auto scheme = [](uint64_t population, uint64_t epoch) {
    return SamplingScheme{population, RandomAllocation{10, epoch, 1, true}};
  };
  const Interval one_draw = EpsilonOf(Of({{scheme(1000, 0), 20, 1}}), 1e-6);
  EXPECT_TRUE(one_draw.Contains(4.9897)) << one_draw.lower() << " " << one_draw.upper();
  const std::vector<std::vector<Part>> same = {
      {{scheme(1000, 0), 10, 1}, {scheme(1000, 1), 10, 1}},
      {{scheme(0, 0), 10, 1}, {scheme(1000, 0), 10, 1}},
      {{scheme(1000, 0), 10, 1}, {scheme(1001, 1), 10, 1}},
      {{scheme(1000, 0), 10, 1}, {scheme(1000, 0), 10, 1, "w#7"}},
      {{scheme(1000, 0), 10, 1}, {scheme(1000, 0), 10, 1, "w#late#a#0"}}};
  for (const auto& parts : same) {
    EXPECT_NEAR(EpsilonOf(Of(parts), 1e-6).upper(), one_draw.upper(), 1e-9);
  }
  // The controls: redrawn epochs, and another writer, are draws of their own.
  const SamplingScheme redrawn{1000, RandomAllocation{10, 0, 1, false}};
  EXPECT_NEAR(EpsilonOf(Of({{redrawn, 20, 1}}), 1e-6).upper(), 3.348, 5e-3);
  EXPECT_NEAR(
      EpsilonOf(Of({{scheme(1000, 0), 10, 1}, {scheme(1000, 0), 10, 1, "v"}}), 1e-6).upper(), 3.348,
      5e-3);
}

// Old ledgers may hold draws that contradict each other. Place in 4 rounds may tell the place in 2:
// at the ε once answered, 2.335, δ is 1.61e-2 and not 1e-2 (Monte Carlo, ± .03e-2).
TEST(FixedBins, ThatChangeTheirShapeCountAtTheirWorst) {
  const SamplingScheme two{0, RandomAllocation{2, 0, 1, true}};
  const SamplingScheme four{0, RandomAllocation{4, 1, 1, true}};
  const Composition changed = Of({{two, 2, 1}, {four, 4, 1}});
  EXPECT_THAT(changed.warnings, Contains(HasSubstr("fixed bins are one draw for their writer")));
  EXPECT_GE(DeltaOf(Direction::kRemove, changed, 2.33531).upper(), 1.64e-2);
  // One kind is an unsampled Gaussian beside the other; of all it is the most that is charged.
  EXPECT_LE(EpsilonOf(changed, 1e-2).upper(),
            EpsilonOf(Of({{{0, FullBatch{}}, 2, 1}}), 1e-2).upper());
  // Below, one kind alone counts.
  EXPECT_LE(EpsilonOf(changed, 1e-2).lower(), EpsilonOf(Of({{two, 2, 1}}), 1e-2).upper());
  // One contribution in ten rounds, then two: nested draws had 1.10e-2 for 1e-2 at 3.220.
  const SamplingScheme once{0, RandomAllocation{4, 0, 1, true}};
  const SamplingScheme twice{0, RandomAllocation{4, 1, 2, true}};
  EXPECT_GE(DeltaOf(Direction::kRemove, Of({{once, 4, 1}, {twice, 4, 1}}), 3.220).upper(), 1.10e-2);
}

// Only Σ 1/z² counts: one epoch of noise 1 and five of noise 3, δ 1e-6, is one of 3/√14.
TEST(FixedBins, OfUnequalNoiseAddUpAsTheirPrecision) {
  const auto scheme = [](uint64_t epoch) {
    return SamplingScheme{0, RandomAllocation{10, epoch, 1, true}};
  };
  std::vector<Part> parts = {{scheme(0), 10, 1}};
  for (uint64_t epoch = 1; epoch <= 5; ++epoch) parts.push_back({scheme(epoch), 10, 3});
  const Interval epsilon = EpsilonOf(Of(parts), 1e-6);
  const Interval one = EpsilonOf(Of({{scheme(0), 10, 3 / std::sqrt(14.0)}}), 1e-6);
  EXPECT_NEAR(epsilon.upper(), one.upper(), 1e-9 * one.upper());
  EXPECT_NEAR(epsilon.lower(), one.lower(), 1e-9 * one.lower());
  EXPECT_TRUE(epsilon.Contains(4.0100)) << epsilon.lower() << " " << epsilon.upper();
}

// A filter's steps are set one after the other; a further epoch of fixed bins changes those before.
TEST(FixedBins, AFilterCountsGaussians) {
  const auto of = [](const Composition& composition) {
    const auto spent = filter::Spent(filter::RdpFilter{8, 1000}, composition, {});
    EXPECT_TRUE(spent.ok()) << spent.status();
    return *spent;
  };
  Composition gaussians;
  gaussians.steps.push_back({1, {2, 2}, 4});
  EXPECT_NEAR(of(Epochs(16, 1, true, 4, 2)), of(gaussians), 1e-12);
  EXPECT_LT(of(Epochs(16, 1, false, 4, 2)), 0.9 * of(gaussians));
}

TEST(Transversals, TwoOfThreeMeetQuadrature) {
  const struct {
    double z, epsilon, remove, add;
  } rows[] = {{1, 1, 0.20040991, 0.19719389},
              {2, 0.5, 0.079289773, 0.079007157},
              {1, 3, 0.0099521641, 0.0082290526}};
  for (const auto& row : rows) {
    const Composition epoch = Epochs(3, 2, false, 1, row.z);
    EXPECT_THAT(epoch.warnings, Contains(HasSubstr("more than one contribution")));
    const Interval remove = DeltaOf(Direction::kRemove, epoch, row.epsilon);
    EXPECT_TRUE(remove.Contains(row.remove)) << remove.lower() << " " << remove.upper();
    EXPECT_LE(remove.upper(), 2 * row.remove);
    EXPECT_GE(remove.lower(), 0.1 * row.remove);
    const Interval add = DeltaOf(Direction::kAdd, epoch, row.epsilon);
    EXPECT_TRUE(add.Contains(row.add)) << add.lower() << " " << add.upper();
    // The control: one of the two contributions left out.
    EXPECT_LT(DeltaOf(Direction::kRemove, Epochs(3, 1, false, 1, row.z), row.epsilon).upper(),
              row.remove);
  }
}

// The bound of blocks, by a prototype; Monte Carlo of the truth with twice its error.
TEST(Transversals, MeetPrototypeBounds) {
  const struct {
    uint64_t contributions, rounds;
    double z, delta, bound, truth, error;
  } rows[] = {{5, 100, 1, 1e-6, 3.486, 3.34, 0.24},
              {10, 1000, 1, 1e-6, 1.965, 1.96, 0.24},
              {5, 391, 0.6, 1.25e-5, 5.695, 5.37, 0.24}};
  for (const auto& row : rows) {
    const Interval epsilon =
        EpsilonOf(Epochs(row.rounds, row.contributions, false, 1, row.z), row.delta);
    EXPECT_NEAR(epsilon.upper(), row.bound, 2e-3 * row.bound) << row.rounds;
    EXPECT_LE(epsilon.lower(), row.truth + row.error) << row.rounds;
    EXPECT_GT(epsilon.lower(), 0) << row.rounds;
  }
}

TEST(Transversals, EveryRoundIsNoSample) {
  const Interval all = EpsilonOf(Epochs(4, 4, false, 2, 3), 1e-6);
  Composition gaussians;
  gaussians.steps.push_back({1, {3, 3}, 8});
  const Interval truth = EpsilonOf(gaussians, 1e-6);
  EXPECT_NEAR(all.lower(), truth.lower(), 1e-9);
  EXPECT_NEAR(all.upper(), truth.upper(), 1e-9);
  // Blocks of one and two rounds.
  const Interval most = EpsilonOf(Epochs(5, 4, true, 1, 3), 1e-6);
  EXPECT_LT(most.upper(), EpsilonOf(Epochs(5, 5, true, 1, 3), 1e-6).lower());
  EXPECT_GT(most.upper(), EpsilonOf(Epochs(4, 3, true, 1, 3), 1e-6).lower());
}

}  // namespace
}  // namespace dpledger::accountant
