#include "client/privatizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <limits>

#include "client/epoch_sampler.h"
#include "client/poisson_sampler.h"
#include "client/rounded_gaussian.h"
#include "tests/support/list_recorder.h"

namespace dpledger::client {
namespace {

using ::dpledger::testing::ListRecorder;
using ::testing::ElementsAre;
using ::testing::EndsWith;

accountant::SamplingScheme PoissonScheme() { return {0, accountant::PoissonSampling{0.01}}; }

class PrivatizerTest : public ::testing::Test {
 protected:
  std::unique_ptr<Privatizer> Make(const PrivatizerOptions& options, uint64_t seed = 5) {
    auto privatizer = Privatizer::CreateNonPrivateForTesting(options, &recorder_, seed);
    EXPECT_TRUE(privatizer.ok()) << privatizer.status();
    return *std::move(privatizer);
  }
  std::vector<float> Step(Privatizer& privatizer, const std::vector<std::vector<float>>& calls) {
    EXPECT_TRUE(privatizer.BeginStep(PoissonScheme()).ok());
    for (const auto& gradients : calls) EXPECT_TRUE(privatizer.Accumulate(gradients).ok());
    auto released = privatizer.Finish();
    EXPECT_TRUE(released.ok()) << released.status();
    return released.value_or(std::vector<float>());
  }

  ListRecorder recorder_;
};

TEST_F(PrivatizerTest, RecordsBeforeItReleases) {
  const auto privatizer = *Privatizer::Create({{{"w", 3, 1.0}}, 1.1}, &recorder_);
  Step(*privatizer, {});
  Step(*privatizer, {});
  EXPECT_THAT(recorder_.calls, ElementsAre("record 41", "await 41", "record 42", "await 42"));
  EXPECT_EQ(recorder_.schemes[0].poisson().probability(), 0.01);
}

TEST_F(PrivatizerTest, LedgerGetsTheIntegersAndTheGrid) {
  const auto privatizer = Privatizer::Create({{{"w", 3, 0.5}}, 2.0}, &recorder_);
  ASSERT_TRUE(privatizer.ok());
  Step(**privatizer, {});
  ASSERT_EQ(recorder_.queries.size(), 1u);
  const v1::SumQuery& query = recorder_.queries[0];
  EXPECT_EQ(query.group(), "w");
  EXPECT_EQ(query.noise(), v1::ROUNDED_GAUSSIAN);
  EXPECT_EQ(query.l2_norm_bound(), 0x1p23);
  EXPECT_EQ(query.noise_stddev(), 0x1p24);
  EXPECT_NEAR(query.grid() * query.l2_norm_bound(), 0.5, 1e-6);
  EXPECT_GT(query.grid() * query.l2_norm_bound(), 0.5);
}

// McMahan et al. 2018, eq. 1.
TEST_F(PrivatizerTest, GroupsTogetherCostTheOneMultiplier) {
  const auto privatizer = Privatizer::Create(
      {{{"conv", 30, 0.5}, {"bias", 2, 0.1}, {"dense", 500, 3}}, 1.3}, &recorder_);
  ASSERT_TRUE(privatizer.ok());
  double inverse_square = 0;
  for (const accountant::SumQuery& query : (*privatizer)->queries()) {
    inverse_square += std::pow(query.l2_norm_bound / query.noise_stddev, 2);
  }
  EXPECT_GE(1 / std::sqrt(inverse_square), 1.3 * (1 - 1e-15));
  EXPECT_LE(1 / std::sqrt(inverse_square), 1.3 * (1 + 1e-6));
}

TEST_F(PrivatizerTest, TestModeIsWrittenIntoTheLedger) {
  const auto privatizer = Make({{{"w", 3, 1.0}}, 1});
  EXPECT_EQ(privatizer->queries()[0].group, "w [NON-PRIVATE TEST MODE]");
  Step(*privatizer, {});
  Step(*privatizer, {});
  ASSERT_EQ(recorder_.mechanisms.size(), 1u);
  EXPECT_TRUE(recorder_.mechanisms[0].has_non_private());
  EXPECT_THAT(recorder_.calls,
              ElementsAre("record 41", "record 42", "await 42", "record 43", "await 43"));
}

TEST_F(PrivatizerTest, PredictableSamplesAreWrittenIntoTheLedger) {
  const accountant::SamplingScheme poisson{1000, accountant::PoissonSampling{0.1}};
  const auto step_twice = [&](const absl::StatusOr<std::unique_ptr<Sampler>>& sampler) {
    const auto privatizer = Privatizer::Create({{{"w", 3, 1.0}}, 1}, &recorder_);
    ASSERT_TRUE(sampler.ok() && privatizer.ok());
    for (int step = 0; step < 2; ++step) {
      ASSERT_TRUE((*sampler)->Draw().ok());
      ASSERT_TRUE((*privatizer)->BeginStep(**sampler, (*sampler)->draws()).ok());
      ASSERT_TRUE((*privatizer)->Finish().ok());
    }
  };
  step_twice(Sampler::CreateToCompare(poisson, 7));
  EXPECT_TRUE(recorder_.mechanisms.empty());
  step_twice(Sampler::CreateNonPrivateForTesting(poisson, 7));
  ASSERT_EQ(recorder_.mechanisms.size(), 1u);
  EXPECT_TRUE(recorder_.mechanisms[0].has_non_private());
}

TEST_F(PrivatizerTest, ARealRunReleasesNoData) {
  const auto privatizer = Privatizer::Create({{{"w", 3, 1.0}}, 1}, &recorder_);
  ASSERT_TRUE(privatizer.ok());
  Step(**privatizer, {});
  EXPECT_TRUE(recorder_.mechanisms.empty());
}

TEST_F(PrivatizerTest, SumIsTheSameUnderAnySplitAndOrder) {
  const PrivatizerOptions options{{{"a", 2, 1.0}, {"b", 3, 0.1}}, 1.0};
  const std::vector<std::vector<float>> rows = {{1, 2, 3, 4, 5},
                                                {0.1f, 0, 0, 0.01f, 0},
                                                {-7, 1e-9f, 1e30f, 2, 1},
                                                {0.3f, 0.3f, 0.3f, 0.3f, 0}};
  const std::vector<float> one_by_one = Step(*Make(options), rows);
  std::vector<float> all;
  for (const auto& row : rows) all.insert(all.end(), row.begin(), row.end());
  EXPECT_EQ(Step(*Make(options), {all}), one_by_one);
  EXPECT_EQ(Step(*Make(options), {rows[2], rows[0], {}, rows[3], rows[1]}), one_by_one);
  const std::vector<float> head(all.begin(), all.begin() + 10), tail(all.begin() + 10, all.end());
  EXPECT_EQ(Step(*Make(options), {tail, head}), one_by_one);
}

TEST_F(PrivatizerTest, SumIsThatOfTheClippedGradients) {
  // With the noise of the same seed taken off: (3, 4) is clipped to (0.6, 0.8), (0.1, 0) stays.
  const PrivatizerOptions options{{{"w", 2, 1.0}}, 1.0};
  const std::vector<float> noise = Step(*Make(options), {});
  const std::vector<float> noised = Step(*Make(options), {{3, 4}, {0.1f, 0}});
  EXPECT_NEAR(noised[0] - noise[0], 0.7, 1e-6);
  EXPECT_NEAR(noised[1] - noise[1], 0.8, 1e-6);
}

TEST_F(PrivatizerTest, NanSpoilsOnlyItsOwnGroupOfItsOwnExample) {
  const PrivatizerOptions options{{{"a", 1, 1.0}, {"b", 2, 1.0}}, 1.0};
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(Step(*Make(options), {{0.5f, nan, 1}, {0.25f, 0.125f, 0}}),
            Step(*Make(options), {{0.5f, 0, 0}, {0.25f, 0.125f, 0}}));
}

TEST_F(PrivatizerTest, NoiseHasTheStandardDeviationOfTheMultiplier) {
  constexpr size_t kSize = 100000;
  const std::vector<float> noise = Step(*Make({{{"w", kSize, 0.5}}, 3.0}), {});
  double square = 0;
  for (const float value : noise) square += double{value} * double{value};
  EXPECT_NEAR(std::sqrt(square / kSize) / (3.0 * 0.5), 1, 5 / std::sqrt(2.0 * kSize));
}

TEST_F(PrivatizerTest, EveryStepAndEveryPrivatizerHasItsOwnNoise) {
  const PrivatizerOptions options{{{"w", 8, 1.0}}, 1.0};
  const auto one = Privatizer::Create(options, &recorder_);
  const auto other = Privatizer::Create(options, &recorder_);
  ASSERT_TRUE(one.ok() && other.ok());
  const std::vector<float> first = Step(**one, {});
  EXPECT_NE(Step(**one, {}), first);
  EXPECT_NE(Step(**other, {}), first);
}

// The noise of the test key by docs/formats.md, section 3.4: `group` counts the statistic, too.
std::vector<int64_t> NoiseOf(uint64_t seed, uint64_t step, uint64_t group, size_t size,
                             const accountant::SumQuery& query) {
  KeyStream key = RootKey::NonPrivateForTesting(seed).Derive(KeyPurpose::kNoise, step);
  std::vector<int64_t> noise(size);
  RoundedGaussian(static_cast<int64_t>(query.noise_stddev))
      .AddTo(key, group, absl::MakeSpan(noise));
  return noise;
}

// No two coordinates share a word, whatever their part, group and thread; nor do two steps.
TEST_F(PrivatizerTest, ReleasesTheNoiseOfTheFormat) {
  PrivatizerOptions options{{{"a", 5, 1.0},
                             {"b", 140'008, 0.1, {{3, 2.0}, {140'005, 0.5}}},
                             {"c", 5, 1.0},
                             {"d", 5, 1.0},
                             {"e", 5, 1.0}},
                            1.0};
  for (const size_t threads : {1u, 3u, 7u}) {
    options.threads = threads;
    const auto privatizer = Make(options, /*seed=*/8);
    for (uint64_t step = 0; step < 2; ++step) {
      const std::vector<float> released = Step(*privatizer, {});
      size_t i = 0;
      for (uint64_t g = 0; g < options.groups.size(); ++g) {
        const accountant::SumQuery& query = privatizer->queries()[g];
        for (const int64_t noise : NoiseOf(8, step, g, options.groups[g].size, query)) {
          const double scale = i < 5 || i >= 140'013 ? 1 : i < 8 ? 2 : 0.5;
          const double grid = query.grid / scale;
          ASSERT_EQ(released[i], static_cast<float>(grid * static_cast<double>(noise))) << i;
          ++i;
        }
      }
    }
  }
}

TEST_F(PrivatizerTest, TheStatisticHasTheNoiseOfTheFormat) {
  PrivatizerOptions options{{{"w", 3, 1.0}}, 1.0};
  options.adaptive = AdaptiveClipNorm{NormQuantile{0.5, 0.2}, /*noise_multiplier=*/4,
                                      /*expected_batch_size=*/10};
  for (const size_t threads : {1u, 2u, 3u, 7u}) {
    options.threads = threads;
    const auto privatizer = Make(options, /*seed=*/8);
    double clip_norm = 1;
    for (uint64_t step = 0; step < 3; ++step) {
      const accountant::SumQuery query = privatizer->queries()[1];
      const auto noise = static_cast<double>(NoiseOf(8, step, 1, 1, query)[0]);
      Step(*privatizer, {});
      clip_norm = NextClipNorm(*options.adaptive, clip_norm, query.grid * noise);
      EXPECT_EQ(privatizer->clip_norm(), clip_norm) << threads;
      EXPECT_NE(clip_norm, 1);
    }
  }
}

// Steps are counted in 64 bits: a run of as many steps as 16 bits hold would use its noise again.
TEST_F(PrivatizerTest, LongRunsDoNotRepeatTheirNoise) {
  const auto privatizer = Make({{{"w", 1, 1.0}}, 1.0}, /*seed=*/8);
  for (uint64_t step = 0; step < uint64_t{1} << 16; ++step) Step(*privatizer, {});
  const accountant::SumQuery& query = privatizer->queries()[0];
  const auto noise = static_cast<double>(NoiseOf(8, uint64_t{1} << 16, 0, 1, query)[0]);
  EXPECT_EQ(Step(*privatizer, {})[0], static_cast<float>(query.grid * noise));
}

TEST_F(PrivatizerTest, GroupsOfEqualSizeHaveDifferentNoise) {
  const std::vector<float> noise = Step(*Make({{{"a", 1, 1.0}, {"b", 1, 1.0}}, 1.0}), {});
  EXPECT_NE(noise[0], noise[1]);
}

TEST_F(PrivatizerTest, ReleasesNothingUnlessTheRecordIsReleasable) {
  const PrivatizerOptions options{{{"w", 2, 1.0}}, 1.0};
  const auto privatizer = Make(options);
  ASSERT_TRUE(privatizer->BeginStep(PoissonScheme()).ok());
  ASSERT_TRUE(privatizer->Accumulate({1, 0}).ok());
  recorder_.await_status = absl::UnavailableError("server is away");
  EXPECT_EQ(privatizer->Finish().status(), absl::UnavailableError("server is away"));
  recorder_.await_status = absl::OkStatus();
  // The round is over: there is no second try with the same noise.
  EXPECT_EQ(privatizer->Finish().status().code(), absl::StatusCode::kFailedPrecondition);
  // Nothing was noised for the round that failed, and the sum starts from 0.
  EXPECT_EQ(Step(*privatizer, {}), Step(*Make(options), {}));
}

// Both sides would release sums with the same noise.
TEST_F(PrivatizerTest, ReleasesNothingInAChildThatIsForkedInTheMiddleOfAStep) {
  const auto privatizer = Make({{{"w", 2, 1.0}}, 1.0});
  ASSERT_TRUE(privatizer->BeginStep(PoissonScheme()).ok());
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const absl::Status status = privatizer->Finish().status();
    _exit(status.code() == absl::StatusCode::kFailedPrecondition ? 42 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 42);
  EXPECT_TRUE(privatizer->Finish().ok());
}

TEST_F(PrivatizerTest, ReleasesTheSameByAnyNumberOfThreads) {
  PrivatizerOptions options{
      {{"a", 100'000, 1.0}, {"b", 70'001, 0.1, {{40'000, 2.0}, {30'001, 1.0}}}}, 1.0};
  std::vector<float> rows(3 * 170'001);
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(i % 1009) - 500;
  const std::vector<float> alone = Step(*Make(options), {rows});
  for (const size_t threads : {2u, 3u, 7u}) {
    options.threads = threads;
    EXPECT_EQ(Step(*Make(options), {rows}), alone) << threads;
  }
}

TEST_F(PrivatizerTest, WritesIntoTheCallersMemoryOnlyWhatIsReleasable) {
  const PrivatizerOptions options{{{"a", 2, 1.0}, {"b", 3, 0.1, {{1, 2.0}, {2, 1.0}}}}, 1.0};
  const auto privatizer = Make(options);
  const std::vector<float> untouched(5, 7), expected = Step(*Make(options), {{3, 4, 1, 0, 0}});
  std::vector<float> released = untouched, small(4);
  ASSERT_TRUE(privatizer->BeginStep(PoissonScheme()).ok());
  recorder_.await_status = absl::UnavailableError("server is away");
  EXPECT_EQ(privatizer->Finish(absl::MakeSpan(released)), recorder_.await_status);
  EXPECT_EQ(released, untouched);
  recorder_.await_status = absl::OkStatus();
  ASSERT_TRUE(privatizer->BeginStep(PoissonScheme()).ok());
  ASSERT_TRUE(privatizer->Accumulate({3, 4, 1, 0, 0}).ok());
  EXPECT_EQ(privatizer->Finish(absl::MakeSpan(small)).message(),
            "released: must have 5 elements, got 4");
  ASSERT_EQ(privatizer->Finish(absl::MakeSpan(released)), absl::OkStatus());
  EXPECT_EQ(released, expected);
}

TEST_F(PrivatizerTest, StepsOpenAndCloseInTurn) {
  const auto privatizer = Make({{{"w", 2, 1.0}}, 1.0});
  EXPECT_EQ(privatizer->Accumulate({1, 0}),
            absl::FailedPreconditionError("no step is open: begin one first"));
  EXPECT_EQ(privatizer->Finish().status(),
            absl::FailedPreconditionError("no step is open: begin one first"));
  ASSERT_TRUE(privatizer->BeginStep(PoissonScheme()).ok());
  EXPECT_EQ(privatizer->BeginStep(PoissonScheme()),
            absl::FailedPreconditionError("a step is open: finish it first"));
}

TEST_F(PrivatizerTest, StaysClosedIfTheRoundCannotBeRecorded) {
  const auto privatizer = Make({{{"w", 2, 1.0}}, 1.0});
  recorder_.record_status = absl::FailedPreconditionError("ledger is sealed");
  EXPECT_EQ(privatizer->BeginStep(PoissonScheme()),
            absl::FailedPreconditionError("ledger is sealed"));
  EXPECT_EQ(privatizer->Accumulate({1, 0}).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(PrivatizerTest, RefusesBrokenRows) {
  const auto privatizer = Make({{{"w", 2, 1.0}}, 1.0});
  ASSERT_TRUE(privatizer->BeginStep(PoissonScheme()).ok());
  const absl::Status status = privatizer->Accumulate({1, 0, 1});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "gradients: must be whole rows of 2 values, got 3 values");
}

TEST_F(PrivatizerTest, RefusesOptionsOutOfTheirDomain) {
  const auto message = [&](const PrivatizerOptions& options) {
    const absl::Status status = Privatizer::Create(options, &recorder_).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_EQ(message({{}, 1}), "groups: must be 1 to 4096, got 0");
  EXPECT_EQ(message({{{"", 1, 1}}, 1}), "groups[0].name: must have 1 to 200 bytes, got 0");
  EXPECT_EQ(message({{{"a", 1, 1}, {"a", 1, 1}}, 1}),
            "groups[1].name: must differ from the others', got \"a\"");
  EXPECT_EQ(message({{{"a", 1, 1}, {"b", 0, 1}}, 1}),
            "groups[1].size: must be in [1, 2^40], got 0");
  EXPECT_EQ(message({{{"a", 1, -2}}, 1}), "groups[0].clip_norm: must be in [1e-30, 1e30], got -2");
  PrivatizerOptions options{{{"a", 1, 1}}, 1};
  options.threads = 0;
  EXPECT_THAT(message(options), ::testing::HasSubstr("threads: must be in [1, 256], got 0"));
  EXPECT_THAT(message({{{"a", 1, 1}}, 0}),
              EndsWith("a multiplier in [2^-10, 2^20]; 0 gives query 0 of 1 0"));
}

// ---- One step, one draw ----

std::unique_ptr<EpochSampler> TestEpochs() {
  return *EpochSampler::Create({EpochPartition::kShuffledBatches, 6, 3},
                               RootKey::NonPrivateForTesting(7));
}

TEST_F(PrivatizerTest, SaysWhoDrewTheSample) {
  const auto privatizer = Make({{{"w", 1, 1.0}}, 1.1});
  const auto sampler = TestEpochs();
  ASSERT_TRUE(sampler->Draw().ok());
  ASSERT_TRUE(privatizer->BeginStep(*sampler).ok());
  ASSERT_TRUE(privatizer->Finish().ok());
  Step(*privatizer, {});
  EXPECT_THAT(recorder_.sources, ElementsAre(v1::SAMPLE_DRAWN, v1::SAMPLE_STATED));
}

TEST_F(PrivatizerTest, ADrawHasOneRound) {
  const auto privatizer = Make({{{"w", 1, 1.0}}, 1.1});
  const auto sampler = TestEpochs();
  const auto begin = [&](uint64_t draw) {
    const absl::Status status = privatizer->BeginStep(*sampler, draw);
    if (status.ok()) {
      EXPECT_TRUE(privatizer->Finish().ok());
    }
    return status;
  };
  const absl::Status used =
      absl::FailedPreconditionError("sampler: has no fresh sample: draw one for each step");
  EXPECT_EQ(privatizer->BeginStep(*sampler), used) << "nothing was drawn";
  for (int draw = 0; draw < 5; ++draw) ASSERT_TRUE(sampler->Draw().ok());
  EXPECT_EQ(sampler->draws(), 5u);
  EXPECT_TRUE(begin(2).ok()) << "draws run ahead of rounds";
  EXPECT_EQ(begin(2), used);
  EXPECT_EQ(begin(1), used) << "rounds take draws in their order";
  EXPECT_EQ(ReasonOf(begin(4)).reason, "SAMPLE_SKIPPED") << "it may be chosen for what is in it";
  EXPECT_TRUE(begin(3).ok());
  EXPECT_TRUE(begin(4).ok());
  EXPECT_EQ(begin(6), used) << "it was not drawn yet";
  EXPECT_TRUE(begin(5).ok());
  // Each by its own scheme: two rounds of the first epoch and of the second, of three draws each.
  std::vector<uint64_t> epochs;
  for (const v1::SamplingScheme& scheme : recorder_.schemes) {
    epochs.push_back(scheme.disjoint_batches().epoch() -
                     recorder_.schemes[0].disjoint_batches().epoch());
  }
  EXPECT_THAT(epochs, ElementsAre(0, 0, 1, 1));
  // One that is too far back is forgotten.
  for (uint64_t draw = 0; draw <= Sampler::kMostWaiting; ++draw) ASSERT_TRUE(sampler->Draw().ok());
  EXPECT_EQ(begin(6), used);
  EXPECT_EQ(ReasonOf(begin(7)).reason, "SAMPLE_SKIPPED");
}

// Tokens of one record as rows of their own count it several times.
TEST_F(PrivatizerTest, TakesNoMoreRowsThanTheSampleHasRecords) {
  const auto privatizer = Make({{{"w", 1, 1.0}}, 1.1});
  const auto sampler = TestEpochs();
  ASSERT_EQ(sampler->Draw()->size(), 2u);
  ASSERT_TRUE(privatizer->BeginStep(*sampler).ok());
  const std::vector<float> rows(3, 1.0f);
  const auto expect_refused = [](const absl::Status& status) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()),
                ::testing::StartsWith("rows: must not be more than the sample has records"));
  };
  expect_refused(privatizer->Accumulate(rows));
  expect_refused(privatizer->Accumulate(GradientRows{rows.data(), 3, 1}));
  expect_refused(
      privatizer->Accumulate(GradientRows{rows.data(), 3, 1}, std::vector<double>(3, 1)));
  ASSERT_TRUE(privatizer->Accumulate(absl::MakeSpan(rows).first(1)).ok());
  ASSERT_TRUE(privatizer->Accumulate(GradientRows{rows.data(), 1, 1}).ok());
  expect_refused(privatizer->Accumulate(absl::MakeSpan(rows).first(1)));
  expect_refused(privatizer->AddSums({1}, 1));
  ASSERT_TRUE(privatizer->Finish().ok());
  // Sums of other ranks, one of which comes twice.
  auto rank = ClippedSum::Create({{{"w", 1, 1.0}}, 1.1});
  ASSERT_TRUE(rank->Accumulate(absl::MakeSpan(rows).first(2)).ok());
  const auto next = TestEpochs();
  ASSERT_EQ(next->Draw()->size(), 2u);
  ASSERT_TRUE(privatizer->BeginStep(*next).ok());
  ASSERT_TRUE(privatizer->AddSums(rank->sums(), rank->rows()).ok());
  expect_refused(privatizer->AddSums(rank->sums(), rank->rows()));
  expect_refused(privatizer->AddSums(rank->sums(), UINT64_MAX));
  ASSERT_TRUE(privatizer->Finish().ok());
  // The control: of a stated sample nobody knows the records.
  Step(*privatizer, {rows});
}

}  // namespace
}  // namespace dpledger::client
