#include "client/run_sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "client/correlated_privatizer.h"
#include "client/epoch_sampler.h"
#include "client/fixed_batches.h"
#include "client/poisson_sampler.h"
#include "tests/support/list_recorder.h"

namespace dpledger::client {
namespace {

using ::dpledger::testing::ListRecorder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Records = std::vector<uint64_t>;

std::vector<Records> Drawn(const RunSampling& sampling, uint64_t steps, uint64_t seed = 3) {
  const RootKey root = RootKey::NonPrivateForTesting(seed);
  RunSampler sampler(sampling, &root);
  std::vector<Records> drawn;
  for (uint64_t step = 0; step < steps; ++step) drawn.push_back(sampler.Draw(step));
  return drawn;
}

// The steps that each record is in, modulo `turns`: one place for each record that is in any.
std::vector<std::set<uint64_t>> TurnsOf(const std::vector<Records>& drawn, uint64_t population,
                                        uint64_t turns) {
  std::vector<std::set<uint64_t>> of(population);
  for (size_t step = 0; step < drawn.size(); ++step) {
    EXPECT_TRUE(std::is_sorted(drawn[step].begin(), drawn[step].end()));
    for (const uint64_t record : drawn[step]) of.at(record).insert(step % turns);
  }
  return of;
}

TEST(RunSampler, BinsHoldEachRecordForTheWholeRun) {
  constexpr uint64_t kPopulation = 40000, kBins = 8;
  const auto drawn = Drawn(BallsInBinsSampling{kPopulation, kBins}, 20);
  for (const auto& turns : TurnsOf(drawn, kPopulation, kBins)) EXPECT_EQ(turns.size(), 1u);
  for (size_t step = 0; step + kBins < drawn.size(); ++step)
    EXPECT_EQ(drawn[step], drawn[step + kBins]);
  // Uniform: chi-square of seven degrees is below 30 with probability 1 - 1e-4.
  double chi = 0;
  for (size_t bin = 0; bin < kBins; ++bin)
    chi += std::pow(static_cast<double>(drawn[bin].size()) - 5000, 2) / 5000;
  EXPECT_LT(chi, 30);
  EXPECT_GT(chi, 0.3);
}

TEST(RunSampler, GroupsOfEqualSizeTakeTurns) {
  const auto drawn = Drawn(CyclicPoissonSampling{1003, 10, 0.4}, 200);
  double total = 0;
  for (size_t step = 0; step < drawn.size(); ++step) {
    const RecordRange group = internal::Batch(1003, 10, step % 10);
    for (const uint64_t record : drawn[step]) {
      ASSERT_GE(record, group.begin);
      ASSERT_LT(record, group.end);
    }
    total += static_cast<double>(drawn[step].size());
  }
  // 200 steps of 100.3 records, each with probability .4: five standard deviations.
  EXPECT_NEAR(total / 200, 40.12, 5 * std::sqrt(100.3 * .24 / 200));
  // The steps of one group draw anew.
  EXPECT_NE(drawn[3], drawn[13]);
}

TEST(RunSampler, DrawnGroupsTakeTurnsToo) {
  constexpr uint64_t kPopulation = 20000, kPeriod = 5;
  const auto drawn = Drawn(CyclicPoissonSampling{kPopulation, kPeriod, 0.5, true}, 60);
  size_t in_any = 0;
  for (const auto& turns : TurnsOf(drawn, kPopulation, kPeriod)) {
    EXPECT_LE(turns.size(), 1u);
    in_any += turns.size();
  }
  // All but 2^-12 of them, as a record's group has twelve steps.
  EXPECT_GT(in_any, kPopulation - 30);
  EXPECT_NE(drawn[1], drawn[1 + kPeriod]);
  double total = 0;
  for (const Records& step : drawn) total += static_cast<double>(step.size());
  EXPECT_NEAR(total / 60, 2000, 5 * std::sqrt(2000.0 / 60));
  // Not in the records' order.
  EXPECT_GT(drawn[0].back(), kPopulation / 2);
}

// Those are computed from docs/formats.md elsewhere.
TEST(RunSampler, DrawsAsTheSamplersOfRoundsDo) {
  const auto epochs = *EpochSampler::Create({EpochPartition::kRandomAllocation, 500, 7},
                                            RootKey::NonPrivateForTesting(3));
  for (const Records& bin : Drawn(BallsInBinsSampling{500, 7}, 7)) {
    EXPECT_EQ(*epochs->Draw(), bin);
  }
  const auto poisson = *PoissonSampler::Create({500, .2}, RootKey::NonPrivateForTesting(3));
  for (const Records& step : Drawn(CyclicPoissonSampling{500, 1, .2}, 5)) {
    EXPECT_EQ(*poisson->Draw(), step);
  }
}

TEST(RunSampler, DependsOnTheKeyAndTheStepAlone) {
  for (const RunSampling& sampling :
       {RunSampling(BallsInBinsSampling{100, 4}), RunSampling(CyclicPoissonSampling{100, 4, .5}),
        RunSampling(CyclicPoissonSampling{100, 4, .5, true})}) {
    const auto drawn = Drawn(sampling, 9);
    const RootKey root = RootKey::NonPrivateForTesting(3);
    RunSampler again(sampling, &root);
    EXPECT_EQ(again.Draw(6), drawn[6]);
    EXPECT_EQ(again.Draw(2), drawn[2]);
    EXPECT_NE(Drawn(sampling, 9, 4)[2], drawn[2]);
  }
}

CorrelatedOptions Options(const RunSampling& sampling) {
  CorrelatedOptions options;
  options.sums = {{{"w", 2, 0.5}}, 2.0};
  options.steps = 8;
  options.encoder = BandedToeplitz{{1, 0.5}};
  options.sampling = sampling;
  return options;
}

TEST(SampledRun, TellsTheLedgerHowItDraws) {
  ListRecorder recorder;
  for (const RunSampling& sampling :
       {RunSampling(BallsInBinsSampling{100, 4}), RunSampling(CyclicPoissonSampling{100, 4, .5}),
        RunSampling(CyclicPoissonSampling{100, 4, .5, true})}) {
    ASSERT_TRUE(CorrelatedPrivatizer::BeginRun(Options(sampling), &recorder).ok());
  }
  const auto text = [&](size_t i) { return recorder.mechanisms[i].ShortDebugString(); };
  EXPECT_THAT(text(0), HasSubstr("balls_in_bins { bins: 4 }"));
  EXPECT_THAT(text(1), HasSubstr("cyclic_poisson { period: 4 probability: 0.5 }"));
  EXPECT_THAT(text(2), HasSubstr("probability: 0.5 groups: GROUPS_DRAWN_ONE_BY_ONE }"));
  CorrelatedOptions tree = Options(BallsInBinsSampling{100, 4});
  tree.encoder = TreeAggregation{};
  ASSERT_TRUE(CorrelatedPrivatizer::BeginRun(tree, &recorder).ok());
  EXPECT_THAT(text(3), HasSubstr("tree { steps: 8 balls_in_bins { bins: 4 } }"));
}

TEST(SampledRun, DrawsTheSameRecordsUntilTheStepIsFinished) {
  ListRecorder recorder;
  const auto run = CorrelatedPrivatizer::BeginNonPrivateRunForTesting(
      Options(CyclicPoissonSampling{1000, 2, .5}), &recorder, 5);
  ASSERT_TRUE(run.ok()) << run.status();
  const auto expected = Drawn(CyclicPoissonSampling{1000, 2, .5}, 8, 5);
  for (size_t step = 0; step < 8; ++step) {
    EXPECT_EQ((*run)->DrawStep().value(), expected[step]);
    EXPECT_EQ((*run)->DrawStep().value(), expected[step]);
    ASSERT_TRUE((*run)->FinishStep().ok());
  }
  EXPECT_THAT(std::string((*run)->DrawStep().status().message()),
              HasSubstr("all 8 planned steps are done"));
}

TEST(SampledRun, TakesNoMoreRowsThanTheStepHasRecords) {
  ListRecorder recorder;
  const auto sampling = CyclicPoissonSampling{20, 2, .5};
  const auto expected = Drawn(sampling, 8, 5);
  for (const bool drawn : {true, false}) {
    const auto run =
        *CorrelatedPrivatizer::BeginNonPrivateRunForTesting(Options(sampling), &recorder, 5);
    const auto add = [&](size_t rows) {
      return run->Accumulate(std::vector<float>(rows * run->dimension()));
    };
    for (size_t step = 0; step < 3; ++step) {
      const size_t records = expected[step].size();
      ASSERT_GT(records, 1u);
      if (drawn) {
        ASSERT_EQ(run->DrawStep()->size(), records);
      }
      ASSERT_EQ(add(records - 1), absl::OkStatus());
      EXPECT_THAT(std::string(add(2).message()), HasSubstr("rows: must not be more than"));
      EXPECT_THAT(std::string(run->AddSums(std::vector<int64_t>(run->dimension()), 2).message()),
                  HasSubstr("rows: must not be more than"));
      EXPECT_EQ(add(1), absl::OkStatus());
      ASSERT_TRUE(run->FinishStep().ok());
    }
  }
}

TEST(SampledRun, DrawsNothingWithoutASampling) {
  ListRecorder recorder;
  const auto run = CorrelatedPrivatizer::BeginRun(Options({}), &recorder);
  ASSERT_TRUE(run.ok());
  const absl::Status status = (*run)->DrawStep().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(),
            "sampling: was not given to the run, whose records take part as the trainer promised");
}

TEST(SampledRun, NamesTheOptionThatIsOutOfItsDomain) {
  ListRecorder recorder;
  const auto message = [&](const CorrelatedOptions& options) {
    const absl::Status status = CorrelatedPrivatizer::BeginRun(options, &recorder).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_EQ(message(Options(BallsInBinsSampling{0, 4})),
            "sampling.population_size: must be in [1, 2^32], got 0");
  EXPECT_EQ(message(Options(BallsInBinsSampling{10, 9})),
            "sampling.bins: must be in [1, steps], got 9");
  EXPECT_EQ(message(Options(CyclicPoissonSampling{10, 0, .5})),
            "sampling.period: must be in [1, steps], got 0");
  EXPECT_EQ(message(Options(CyclicPoissonSampling{10, 1, .5})),
            "sampling.period: must be at least the number of coefficients, 2, got 1");
  EXPECT_EQ(message(Options(CyclicPoissonSampling{10, 2, 0})),
            "sampling.probability: must be in (0, 1], got 0");
  EXPECT_EQ(
      message(Options(CyclicPoissonSampling{10, 2, std::numeric_limits<double>::quiet_NaN()})),
      "sampling.probability: must be in (0, 1], got nan");
  CorrelatedOptions options = Options(CyclicPoissonSampling{10, 8, .5});
  options.encoder = TreeAggregation{};
  EXPECT_EQ(message(options),
            "encoder: must be banded for cyclic Poisson sampling: the messages that a record is in "
            "must not meet");
  options.encoder = BufferedToeplitz{{0.5}, {0.5}};
  EXPECT_THAT(message(options), HasSubstr("encoder: must be banded"));
  options = Options(BallsInBinsSampling{10, 4});
  options.max_participations = 2;
  EXPECT_EQ(message(options), "max_participations: must be in [1, 1], got 2");
  options = Options(BallsInBinsSampling{10, 4000});
  options.steps = 8000;
  options.encoder = TreeAggregation{};
  EXPECT_EQ(message(options), "sampling.bins: must be in [1, 2048], got 4000");
}

}  // namespace
}  // namespace dpledger::client
