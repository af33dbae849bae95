#include "client/correlated_privatizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "client/rounded_gaussian.h"
#include "tests/client/oracle.h"
#include "tests/support/list_recorder.h"

namespace dpledger::client {
namespace {

using ::dpledger::testing::ListRecorder;
using ::testing::ElementsAre;
using ::testing::StartsWith;
using Rows = std::vector<std::vector<float>>;

constexpr uint64_t kOracleSeed = 7;

CorrelatedOptions Options(size_t size, uint64_t steps) {
  CorrelatedOptions options;
  options.sums = {{{"w", size, 0.5}}, 2.0};
  options.steps = steps;
  options.max_participations = 3;
  options.min_separation = 2;
  return options;
}

CorrelatedOptions Banded(size_t size, uint64_t steps, std::vector<double> coefficients) {
  CorrelatedOptions options = Options(size, steps);
  options.encoder = BandedToeplitz{std::move(coefficients)};
  return options;
}

CorrelatedOptions Buffered(size_t size, uint64_t steps, std::vector<double> weights,
                           std::vector<double> decays) {
  CorrelatedOptions options = Options(size, steps);
  options.encoder = BufferedToeplitz{std::move(weights), std::move(decays)};
  return options;
}

class CorrelatedPrivatizerTest : public ::testing::Test {
 protected:
  std::unique_ptr<CorrelatedPrivatizer> Begin(const CorrelatedOptions& options, uint64_t seed = 5) {
    auto run = CorrelatedPrivatizer::BeginNonPrivateRunForTesting(options, &recorder_, seed);
    EXPECT_TRUE(run.ok()) << run.status();
    return *std::move(run);
  }
  // Estimates of a run with one gradient a step.
  Rows Run(const CorrelatedOptions& options, const Rows& gradients, uint64_t seed = 5) {
    const auto run = Begin(options, seed);
    Rows estimates;
    for (const auto& gradient : gradients) {
      EXPECT_TRUE(run->Accumulate(gradient).ok());
      const auto step = run->FinishStep();
      EXPECT_TRUE(step.ok()) << step.status();
      estimates.push_back(*step);
    }
    return estimates;
  }
  std::string MessageOf(const CorrelatedOptions& options) {
    const absl::Status status = CorrelatedPrivatizer::BeginRun(options, &recorder_).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_TRUE(recorder_.mechanisms.empty());
    return std::string(status.message());
  }

  ListRecorder recorder_;
};

TEST_F(CorrelatedPrivatizerTest, RecordsTheRunOnceBeforeItReleases) {
  const auto run = CorrelatedPrivatizer::BeginRun(Banded(3, 9, {1, 0.5, 0.3}), &recorder_);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_THAT(recorder_.calls, ElementsAre("record 41"));
  EXPECT_TRUE((*run)->FinishStep().ok());
  EXPECT_TRUE((*run)->FinishStep().ok());
  EXPECT_THAT(recorder_.calls, ElementsAre("record 41", "await 41"));
  // 0.3 becomes 307/1024.
  EXPECT_EQ(recorder_.mechanisms[0].ShortDebugString(),
            "matrix_mechanism { noise_stddev: 2 toeplitz { steps: 9 coefficients: 1 coefficients: "
            "0.5 coefficients: 0.2998046875 participation { max_participations: 3 min_separation: "
            "2 } } noise: ROUNDED_GAUSSIAN }");
}

TEST_F(CorrelatedPrivatizerTest, RecordsATree) {
  ASSERT_TRUE(CorrelatedPrivatizer::BeginRun(Options(3, 9), &recorder_).ok());
  EXPECT_EQ(recorder_.mechanisms[0].ShortDebugString(),
            "matrix_mechanism { noise_stddev: 2 tree { steps: 9 participation { "
            "max_participations: 3 min_separation: 2 } } noise: ROUNDED_GAUSSIAN }");
}

TEST_F(CorrelatedPrivatizerTest, TestModeIsRecordedAsNonPrivate) {
  Begin(Options(3, 9));
  EXPECT_EQ(recorder_.mechanisms[0].ShortDebugString(), "non_private { }");
}

// The same noise with and without gradients: what is between the two is the gradients' sums alone,
// whatever the encoder mixed on the way.
TEST_F(CorrelatedPrivatizerTest, EstimatesAreTheSumsPlusNoise) {
  Rows gradients;
  for (int t = 0; t < 13; ++t) {
    gradients.push_back({0.3f * std::sin(static_cast<float>(t)), -0.02f * static_cast<float>(t)});
  }
  for (const auto& options : {Options(2, 13), Banded(2, 13, {1, 0.5, 0.375, 0.3125}),
                              Banded(2, 13, {1}), Buffered(2, 13, {0.5, 0.25}, {0.25, 0.875})}) {
    const Rows noise = Run(options, Rows(13, {0, 0})), noised = Run(options, gradients);
    for (size_t t = 0; t < 13; ++t) {
      for (size_t i = 0; i < 2; ++i) {
        EXPECT_NEAR(noised[t][i] - noise[t][i], gradients[t][i], 2e-5) << t << " " << i;
      }
    }
  }
}

std::vector<double> DoublesAt(const JsonObject& object, const std::string& key) {
  std::vector<double> values;
  for (const auto& value : ListAt(object, key)) values.push_back(value.number_value());
  return values;
}

Rows RowsAt(const JsonObject& object, const std::string& key) {
  Rows rows;
  for (const auto& row : ListAt(object, key)) {
    rows.emplace_back();
    for (const auto& value : row.list_value().values()) {
      rows.back().push_back(static_cast<float>(value.number_value()));
    }
  }
  return rows;
}

// What docs/formats.md says, computed from that text alone.
TEST_F(CorrelatedPrivatizerTest, EstimatesAreThoseOfTheFormat) {
  const auto oracle = LoadOracle();
  ASSERT_EQ(NumberAt(oracle.fields(), "seed"), kOracleSeed);
  ASSERT_EQ(ListAt(oracle.fields(), "correlated").size(), 3);
  for (const auto& value : ListAt(oracle.fields(), "correlated")) {
    const JsonObject& run = value.struct_value().fields();
    const Rows gradients = RowsAt(run, "gradients");
    CorrelatedOptions options = Options(gradients[0].size(), gradients.size());
    if (run.contains("coefficients")) {
      options.encoder = BandedToeplitz{DoublesAt(run, "coefficients")};
    } else if (run.contains("weights")) {
      options.encoder = BufferedToeplitz{DoublesAt(run, "weights"), DoublesAt(run, "decays")};
    }
    EXPECT_EQ(Run(options, gradients, kOracleSeed), RowsAt(run, "estimates"))
        << "encoder " << options.encoder.index();
  }
}

// The estimates of a tree without gradients, in plain words: message `level` of step t is noise of
// step t - 1's key, part `level`, and an interval's estimate is that of least variance.
Rows TreeNoise(const CorrelatedOptions& options, uint64_t seed, double grid, int64_t sigma) {
  const RootKey root = RootKey::NonPrivateForTesting(seed);
  const size_t size = options.sums.groups[0].size;
  std::vector<std::vector<double>> left(64);
  Rows estimates;
  for (uint64_t t = 1; t <= options.steps; ++t) {
    KeyStream key = root.Derive(KeyPurpose::kNoise, t - 1);
    std::vector<double> estimate(size);
    int level = 0;
    for (; t % (uint64_t{1} << level) == 0; ++level) {
      std::vector<int64_t> noise(size);
      RoundedGaussian(sigma).AddTo(key, static_cast<uint64_t>(level), 0, absl::MakeSpan(noise));
      const double own = std::ldexp(1, level) / (std::ldexp(1, level + 1) - 1);
      for (size_t i = 0; i < size; ++i) {
        const auto message = static_cast<double>(noise[i]);
        estimate[i] =
            level == 0 ? message : own * message + (1 - own) * (left[level - 1][i] + estimate[i]);
      }
    }
    estimates.emplace_back();
    for (size_t i = 0; i < size; ++i) {
      double difference = estimate[i];
      for (int below = 0; below + 1 < level; ++below) difference -= left[below][i];
      estimates.back().push_back(
          static_cast<float>(grid * static_cast<double>(static_cast<float>(difference))));
    }
    left[level - 1] = estimate;
  }
  return estimates;
}

// Long enough for seven levels, each with noise of its own.
TEST_F(CorrelatedPrivatizerTest, EveryLevelOfATreeHasTheNoiseOfTheFormat) {
  const CorrelatedOptions options = Options(3, 70);
  const auto sum = ClippedSum::Create(options.sums);
  ASSERT_TRUE(sum.ok());
  EXPECT_EQ(
      Run(options, Rows(70, {0, 0, 0}), kOracleSeed),
      TreeNoise(options, kOracleSeed, sum->groups()[0].clip.grid(), sum->plan().noise_stddev));
}

// Both sides would release sums with the same noise.
TEST_F(CorrelatedPrivatizerTest, ReleasesNothingInAForkedChild) {
  const auto run = Begin(Options(2, 5));
  ASSERT_TRUE(run->FinishStep().ok());
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const absl::Status status = run->FinishStep().status();
    _exit(status.code() == absl::StatusCode::kFailedPrecondition ? 42 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 42);
  EXPECT_TRUE(run->FinishStep().ok());
}

// To nearest, ties to even: 0.7 is 716.8 of 1024, 0.00048828125 a half of one.
TEST_F(CorrelatedPrivatizerTest, CoefficientsAreRoundedToNearest) {
  EXPECT_THAT(IntegerCoefficients({{1, 0.7, 0.3, 1.5 / 1024, 0.5 / 1024}}),
              ElementsAre(1024, 717, 307, 2));
}

// Long vectors are released piece by piece, each with its own part of what is kept.
TEST_F(CorrelatedPrivatizerTest, PiecesOfLongVectorsDoNotMix) {
  constexpr size_t kLong = (1 << 17) + 70, kSteps = 3;
  Rows gradients(kSteps, std::vector<float>(kLong));
  for (size_t t = 0; t < kSteps; ++t) {
    gradients[t][3] = 0.1f * static_cast<float>(t + 1);
    gradients[t][kLong - 2] = -0.02f * static_cast<float>(t + 1);
  }
  for (const auto& options : {Options(kLong, kSteps), Banded(kLong, kSteps, {1, 0.5, 0.375}),
                              Buffered(kLong, kSteps, {0.5}, {0.75})}) {
    const Rows noise = Run(options, Rows(kSteps, std::vector<float>(kLong)));
    const Rows noised = Run(options, gradients);
    for (size_t t = 0; t < kSteps; ++t) {
      double worst = 0;
      for (size_t i = 0; i < kLong; ++i) {
        worst = std::fmax(worst, std::fabs(noised[t][i] - noise[t][i] - gradients[t][i]));
      }
      EXPECT_LT(worst, 1e-4) << t;
    }
    EXPECT_NE(noise[0][3], noise[0][3 + (1 << 17)]);
  }
}

// Sizes: one thread's work; shares that are no whole pieces; more pieces than threads.
TEST_F(CorrelatedPrivatizerTest, ReleasesTheSameByAnyNumberOfThreads) {
  for (const size_t size : {70u, (1u << 17) + 70, (1u << 19) + 71}) {
    Rows gradients(4, std::vector<float>(size));
    for (size_t t = 0; t < gradients.size(); ++t) {
      for (size_t i = 0; i < size; ++i) gradients[t][i] = static_cast<float>((i + t) % 1009) - 500;
    }
    for (CorrelatedOptions options : {Options(size, 4), Banded(size, 4, {1, 0.5, 0.375}),
                                      Buffered(size, 4, {0.5, 0.25}, {0.75, 0.5})}) {
      const Rows alone = Run(options, gradients);
      for (const size_t threads : {2u, 3u, 7u}) {
        options.sums.threads = threads;
        EXPECT_TRUE(Run(options, gradients) == alone)
            << size << " " << threads << " " << options.encoder.index();
      }
    }
  }
}

TEST_F(CorrelatedPrivatizerTest, UnitsAreThoseOfEachPartAndGroup) {
  CorrelatedOptions options = Banded(4, 2, {1, 0.5});
  options.sums.groups = {{"a", 2, 3.0, {{1, 0.01}, {1, 10.0}}}, {"b", 2, 0.5}};
  const Rows gradients = {{100, 0.1f, 0.25f, 0.125f}, {-50, 0.01f, 0.3f, 0}};
  const Rows noise = Run(options, Rows(2, {0, 0, 0, 0})), noised = Run(options, gradients);
  for (size_t t = 0; t < 2; ++t) {
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_NEAR(noised[t][i] - noise[t][i], gradients[t][i], 1e-5 * std::fabs(noise[t][i]));
    }
  }
}

// Per coordinate of the estimates' noise, in units of one message's variance.
std::vector<std::vector<double>> Covariance(const Rows& noise, double unit) {
  std::vector<std::vector<double>> covariance(noise.size(), std::vector<double>(noise.size()));
  const size_t size = noise[0].size();
  for (size_t s = 0; s < noise.size(); ++s) {
    for (size_t t = 0; t < noise.size(); ++t) {
      for (size_t i = 0; i < size; ++i) {
        covariance[s][t] += double{noise[s][i]} * double{noise[t][i]};
      }
      covariance[s][t] /= static_cast<double>(size) * unit * unit;
    }
  }
  return covariance;
}

constexpr size_t kSize = 40000;
// z C of Options.
constexpr double kUnit = 2.0 * 0.5;

// Compares the noise of a run with that of the inverse of the Toeplitz matrix c.
void ExpectNoiseOfTheInverse(const Rows& noise, const std::vector<double>& c) {
  // The impulse response b of the inverse: c * b = (1, 0, 0, ...).
  std::vector<double> b;
  for (size_t t = 0; t < noise.size(); ++t) {
    double value = t == 0 ? 1 : 0;
    for (size_t j = 1; j < c.size() && j <= t; ++j) value -= c[j] * b[t - j];
    b.push_back(value);
  }
  const auto covariance = Covariance(noise, kUnit);
  for (size_t s = 0; s < noise.size(); ++s) {
    for (size_t t = s; t < noise.size(); ++t) {
      double expected = 0;
      for (size_t r = 0; r <= s; ++r) expected += b[s - r] * b[t - r];
      // Six standard deviations of such a mean; the variance is 1.6 at most.
      EXPECT_NEAR(covariance[s][t], expected, 6 * 1.6 * std::sqrt(2.0 / kSize)) << s << " " << t;
    }
  }
  // What independent noise would not have.
  EXPECT_LT(covariance[0][1], -0.4);
}

TEST_F(CorrelatedPrivatizerTest, BandedNoiseIsThatOfTheInverse) {
  const std::vector<double> c = {1, 0.5, 0.375};
  ExpectNoiseOfTheInverse(Run(Banded(kSize, 6, c), Rows(6, std::vector<float>(kSize))), c);
}

TEST_F(CorrelatedPrivatizerTest, BufferedNoiseIsThatOfTheInverse) {
  std::vector<double> c = {1};
  for (int j = 0; j < 5; ++j) c.push_back(0.5 * std::pow(0.25, j) + 0.25 * std::pow(0.875, j));
  ExpectNoiseOfTheInverse(
      Run(Buffered(kSize, 6, {0.5, 0.25}, {0.25, 0.875}), Rows(6, std::vector<float>(kSize))), c);
}

TEST_F(CorrelatedPrivatizerTest, TreeNoiseOfPrefixesIsThatOfTheBestEstimates) {
  constexpr size_t kSteps = 12;
  Rows noise = Run(Options(kSize, kSteps), Rows(kSteps, std::vector<float>(kSize)));
  for (size_t t = 1; t < kSteps; ++t) {
    for (size_t i = 0; i < kSize; ++i) noise[t][i] += noise[t - 1][i];
  }
  const auto covariance = Covariance(noise, kUnit);
  // Least squares from one's own message and two estimates of halves, worked out by hand.
  const double variances[] = {1, 2.0 / 3, 4.0 / 7, 8.0 / 15};
  for (size_t t = 1; t <= kSteps; ++t) {
    double expected = 0;
    for (size_t level = 0; level < 4; ++level) expected += (t >> level & 1) * variances[level];
    EXPECT_NEAR(covariance[t - 1][t - 1], expected, 6 * expected * std::sqrt(2.0 / kSize)) << t;
  }
}

TEST_F(CorrelatedPrivatizerTest, RanksSumsAddUpToThoseOfOneProcess) {
  const CorrelatedOptions options = Banded(2, 2, {1, 0.5});
  const auto one = Begin(options), leader = Begin(options);
  auto rank = ClippedSum::Create(options.sums);
  ASSERT_TRUE(rank.ok());
  ASSERT_TRUE(one->Accumulate({0.1f, 0.2f, 0.3f, 0.05f}).ok());
  ASSERT_TRUE(leader->Accumulate({0.1f, 0.2f}).ok());
  ASSERT_TRUE(rank->Accumulate({0.3f, 0.05f}).ok());
  ASSERT_TRUE(leader->AddSums(rank->sums(), rank->rows()).ok());
  EXPECT_EQ(*one->FinishStep(), *leader->FinishStep());
}

TEST_F(CorrelatedPrivatizerTest, NoisesOfRunsAndCoordinatesDiffer) {
  const auto one = CorrelatedPrivatizer::BeginRun(Options(2, 2), &recorder_);
  const auto other = CorrelatedPrivatizer::BeginRun(Options(2, 2), &recorder_);
  ASSERT_TRUE(one.ok() && other.ok());
  const std::vector<float> first = *(*one)->FinishStep();
  EXPECT_NE(first[0], first[1]);
  EXPECT_NE(first, *(*other)->FinishStep());
  EXPECT_NE(first, *(*one)->FinishStep());
}

TEST_F(CorrelatedPrivatizerTest, NothingLeavesOrIsLostBeforeTheEventIsReleasable) {
  const CorrelatedOptions options = Options(2, 2);
  const Rows expected = Run(options, {{0.1f, 0}, {0, 0}});
  const auto run = Begin(options);
  ASSERT_TRUE(run->Accumulate({0.1f, 0}).ok());
  recorder_.await_status = absl::UnavailableError("server is away");
  EXPECT_EQ(run->FinishStep().status(), absl::UnavailableError("server is away"));
  EXPECT_EQ(run->steps_done(), 0u);
  recorder_.await_status = absl::OkStatus();
  const auto released = run->FinishStep();
  ASSERT_TRUE(released.ok());
  EXPECT_EQ(*released, expected[0]);
}

TEST_F(CorrelatedPrivatizerTest, DoesNotBeginWhatCannotBeRecorded) {
  recorder_.record_status = absl::FailedPreconditionError("ledger is sealed");
  EXPECT_EQ(CorrelatedPrivatizer::BeginRun(Options(2, 2), &recorder_).status(),
            absl::FailedPreconditionError("ledger is sealed"));
}

TEST_F(CorrelatedPrivatizerTest, EndsWithThePlan) {
  const auto run = Begin(Options(2, 2));
  EXPECT_TRUE(run->FinishStep().ok());
  EXPECT_TRUE(run->FinishStep().ok());
  const absl::Status over = absl::FailedPreconditionError(
      "all 2 planned steps are done: more are a new run, with an event of its own");
  EXPECT_EQ(run->FinishStep().status(), over);
  EXPECT_EQ(run->Accumulate(std::vector<float>{0, 0}), over);
  EXPECT_EQ(run->AddSums({0, 0}, 1), over);
}

TEST_F(CorrelatedPrivatizerTest, RefusesOptionsOutOfTheirDomain) {
  CorrelatedOptions options = Options(2, 0);
  EXPECT_EQ(MessageOf(options), "steps: must be in [1, 9007199254740992], got 0");
  options = Banded(2, 65537, {1});
  EXPECT_EQ(MessageOf(options), "steps: must be in [1, 65536], got 65537");
  EXPECT_EQ(MessageOf(Banded(2, 2, {})), "encoder.coefficients: must be in [1, 2], got 0");
  EXPECT_EQ(MessageOf(Banded(2, 2, {1, 0.5, 0.5})),
            "encoder.coefficients: must be in [1, 2], got 3");
  EXPECT_EQ(MessageOf(Banded(2, 2, {0.5})), "encoder.coefficients[0]: must be 1, got 0.5");
  EXPECT_EQ(MessageOf(Banded(2, 3, {1, 0.25, 0.5})),
            "encoder.coefficients[2]: must be in [0, 0.25], got 0.5");
  EXPECT_EQ(MessageOf(Banded(2, 3, {1, std::numeric_limits<double>::quiet_NaN()})),
            "encoder.coefficients[1]: must be in [0, 1], got nan");
  EXPECT_EQ(MessageOf(Buffered(2, 8001, {0.5}, {0.5})), "steps: must be in [1, 8000], got 8001");
  EXPECT_EQ(MessageOf(Buffered(2, 9, {}, {})), "encoder.weights: must be in [1, 16], got 0");
  EXPECT_EQ(MessageOf(Buffered(2, 9, {0.5}, {})),
            "encoder.decays: must be as many as weights, 1, got 0");
  EXPECT_EQ(MessageOf(Buffered(2, 9, {0.5, 0.625}, {0.5, 0.5})),
            "encoder.weights[1]: must be >= 0, and at most 1 with those before it, got 0.625");
  EXPECT_EQ(MessageOf(Buffered(2, 9, {0.5}, {1})),
            "encoder.decays[0]: must be in [0, 1 - 2^-13], got 1");
  EXPECT_THAT(MessageOf(Buffered(1000000, 8000, {1}, {1 - 0x1p-13})),
              StartsWith("encoder.decays: are too near to 1: rounding would cost 0."));
  options = Options(2, 2);
  options.max_participations = 1025;
  EXPECT_EQ(MessageOf(options), "max_participations: must be in [1, 1024], got 1025");
  options = Options(2, 2);
  options.min_separation = 0;
  EXPECT_EQ(MessageOf(options), "min_separation: must be in [1, 9007199254740992], got 0");
  options = Options(2, 2);
  options.sums.groups[0].clip_norm = -1;
  EXPECT_EQ(MessageOf(options), "sums.groups[0].clip_norm: must be in [1e-30, 1e30], got -1");
  options = Options(2, 2);
  options.sums.adaptive = AdaptiveClipNorm{MeanNorm{}, 10, 10};
  EXPECT_EQ(MessageOf(options),
            "sums.adaptive: must be absent: the clip norm holds for the whole run");
  options = Banded(2, 2, {1});
  options.sums.noise_multiplier = 1e5;
  EXPECT_EQ(MessageOf(options),
            "sums.noise_multiplier: is too large for messages in shares of 2^-10, got 100000");
}

}  // namespace
}  // namespace dpledger::client
