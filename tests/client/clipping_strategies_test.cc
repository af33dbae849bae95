// Every strategy of client/privatizer_options.h: what it releases, and what the ledger is told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "client/privatizer.h"
#include "tests/support/list_recorder.h"

namespace dpledger::client {
namespace {

using ::dpledger::testing::ListRecorder;
using ::testing::HasSubstr;

double MultiplierOf(const v1::SumQuery& query) {
  return query.noise_stddev() / query.l2_norm_bound();
}
double MultiplierOf(const accountant::SumQuery& query) {
  return query.noise_stddev / query.l2_norm_bound;
}

// Of the whole round: McMahan et al. 2018, eq. 1.
double MultiplierOf(const std::vector<v1::SumQuery>& queries) {
  double inverse_square = 0;
  for (const v1::SumQuery& query : queries) inverse_square += std::pow(MultiplierOf(query), -2);
  return 1 / std::sqrt(inverse_square);
}

class Strategy : public ::testing::Test {
 protected:
  std::unique_ptr<Privatizer> Make(const PrivatizerOptions& options, uint64_t seed = 5) {
    auto privatizer = Privatizer::CreateNonPrivateForTesting(options, &recorder_, seed);
    EXPECT_TRUE(privatizer.ok()) << privatizer.status();
    return *std::move(privatizer);
  }
  std::vector<float> Step(Privatizer& privatizer, const std::vector<float>& rows) {
    EXPECT_EQ(privatizer.BeginStep({0, accountant::PoissonSampling{0.01}}), absl::OkStatus());
    EXPECT_EQ(privatizer.Accumulate(rows), absl::OkStatus());
    auto released = privatizer.Finish();
    EXPECT_TRUE(released.ok()) << released.status();
    return released.value_or(std::vector<float>());
  }
  // The clipped sum alone: the noise of the same seed taken off.
  std::vector<double> Sum(const PrivatizerOptions& options, const std::vector<float>& rows) {
    const std::vector<float> noise = Step(*Make(options), {}), noised = Step(*Make(options), rows);
    std::vector<double> sum;
    for (size_t i = 0; i < noise.size(); ++i) sum.push_back(double{noised[i]} - double{noise[i]});
    return sum;
  }
  static void ExpectNear(const std::vector<double>& values, const std::vector<double>& expected) {
    ASSERT_EQ(values.size(), expected.size());
    for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], 3e-6) << i;
  }
  static double StddevOf(const std::vector<float>& values, size_t begin, size_t end) {
    double square = 0;
    for (size_t i = begin; i < end; ++i) square += double{values[i]} * double{values[i]};
    return std::sqrt(square / static_cast<double>(end - begin));
  }

  ListRecorder recorder_;
};

// (3, 4 | 6) with scales 1 and 2 is (3, 4, 12), of norm 13.
TEST_F(Strategy, JointClipsPartsByOneNorm) {
  PrivatizerOptions options{{{"w", 3, 1.0, {{2, 1}, {1, 2}}}}, 1.0};
  ExpectNear(Sum(options, {3, 4, 6}), {3 / 13.0, 4 / 13.0, 6 / 13.0});
  ExpectNear(Sum(options, {0.1f, 0, 0.25f}), {0.1, 0, 0.25});
  EXPECT_EQ(recorder_.queries.size(), 1u);
  EXPECT_NEAR(MultiplierOf(recorder_.queries[0]), 1, 1e-6);
}

TEST_F(Strategy, JointNoiseIsDividedByThePartsScale) {
  constexpr size_t kSize = 50000;
  PrivatizerOptions options{{{"w", 2 * kSize, 1.0, {{kSize, 1}, {kSize, 8}}}}, 2.0};
  const std::vector<float> noise = Step(*Make(options), {});
  const double tolerance = 5 / std::sqrt(2.0 * kSize);
  EXPECT_NEAR(StddevOf(noise, 0, kSize) / 2, 1, tolerance);
  EXPECT_NEAR(StddevOf(noise, kSize, 2 * kSize) / (2.0 / 8), 1, tolerance);
}

TEST_F(Strategy, LeastVarianceGivesEachGroupItsNoise) {
  constexpr size_t kLarge = 160000, kSmall = 10000;
  PrivatizerOptions options{{{"large", kLarge, 1.0}, {"small", kSmall, 1.0}}, 1.0};
  options.allocation = NoiseAllocation::kLeastVariance;
  const std::vector<float> noise = Step(*Make(options), {});
  EXPECT_NEAR(MultiplierOf(recorder_.queries), 1, 1e-5);
  const double large = StddevOf(noise, 0, kLarge), small = StddevOf(noise, kLarge, kLarge + kSmall);
  EXPECT_NEAR(small / large, 2, 0.05);  // 16^(1/4)
  EXPECT_NEAR(large / MultiplierOf(recorder_.queries[0]), 1, 0.02);
  EXPECT_NEAR(small / MultiplierOf(recorder_.queries[1]), 1, 0.05);
}

TEST_F(Strategy, AutomaticBringsEveryGradientToNearlyOne) {
  PrivatizerOptions options{{{"w", 2, 0, {}, Normalise{0.01}}}, 1.5};
  ExpectNear(Sum(options, {3, 4}), {3 / 5.01, 4 / 5.01});
  ExpectNear(Sum(options, {3e-4f, 4e-4f}), {3e-4 / 0.0105, 4e-4 / 0.0105});
  EXPECT_NEAR(MultiplierOf(recorder_.queries[0]), 1.5, 1e-5);
  EXPECT_NEAR(recorder_.queries[0].grid() * recorder_.queries[0].l2_norm_bound(), 1, 1e-5);
}

// A record can turn the mean of its microbatch round: the distance of the two sums is 2 K, and no
// more.
TEST_F(Strategy, MicrobatchesAreChargedTwiceTheBound) {
  PrivatizerOptions options{{{"w", 1, 1.0}}, 1.0};
  const auto flat = Make(options);
  options.microbatches = true;
  const auto privatizer = Make(options);
  const accountant::SumQuery &query = privatizer->queries()[0], &flat_query = flat->queries()[0];
  EXPECT_NEAR(MultiplierOf(query), 1, 1e-6);
  auto sum = ClippedSum::Create(options);
  ASSERT_TRUE(sum.ok());
  ASSERT_EQ(sum->Accumulate({1e6f}), absl::OkStatus());
  const int64_t with = sum->sums()[0];
  sum->Clear();
  ASSERT_EQ(sum->Accumulate({-1e6f}), absl::OkStatus());
  const auto distance = static_cast<double>(with - sum->sums()[0]);
  EXPECT_LE(distance, query.l2_norm_bound);
  EXPECT_GT(distance, query.l2_norm_bound * (1 - 1e-5));
  // Twice the noise for the same clip norm.
  EXPECT_NEAR(query.grid / flat_query.grid, 2, 1e-5);
  ExpectNear(Sum(options, {0.25f, 3}), {1.25});
}

TEST(NextClipNorm, MeanOfNorms) {
  const AdaptiveClipNorm adaptive{MeanNorm{1.5, 2}, 10, 50};
  EXPECT_DOUBLE_EQ(NextClipNorm(adaptive, 1, 100), 3);  // a mean of 2
  EXPECT_DOUBLE_EQ(NextClipNorm(adaptive, 1, -100), 0.1);
  EXPECT_DOUBLE_EQ(NextClipNorm(adaptive, 1, 1e6), 10);
}

TEST(NextClipNorm, Quantile) {
  const AdaptiveClipNorm adaptive{NormQuantile{0.8, 0.2}, 10, 50};
  // 30 of 50 at most C: a sum of (30 - 20) / 2.
  EXPECT_DOUBLE_EQ(NextClipNorm(adaptive, 3, 5), 3 * std::exp(-0.2 * (0.6 - 0.8)));
  EXPECT_DOUBLE_EQ(NextClipNorm(adaptive, 3, 25), 3 * std::exp(-0.2 * (1.0 - 0.8)));
  EXPECT_DOUBLE_EQ(NextClipNorm(adaptive, 3, 1e6), 0.3);
}

TEST_F(Strategy, AdaptsToTheMeanNorm) {
  PrivatizerOptions options{{{"w", 2, 1.0}}, 1.0};
  options.adaptive = AdaptiveClipNorm{MeanNorm{1, 2}, 3, 2000};
  const auto privatizer = Make(options);
  std::vector<float> rows;  // norms 5 and 10
  for (int i = 0; i < 1000; ++i) rows.insert(rows.end(), {3, 4, 6, 8});
  Step(*privatizer, rows);
  // The norms are cut at 2 C; noise of 3 * 2 C over 2000 is 0.003.
  EXPECT_NEAR(privatizer->clip_norm(), 2, 0.02);
  Step(*privatizer, rows);
  EXPECT_NEAR(privatizer->clip_norm(), 4, 0.04);
  Step(*privatizer, rows);
  EXPECT_NEAR(privatizer->clip_norm(), 6.5, 0.1);
  Step(*privatizer, rows);
  EXPECT_NEAR(privatizer->clip_norm(), 7.5, 0.1);
}

TEST_F(Strategy, AdaptsToAQuantileOfTheNorms) {
  PrivatizerOptions options{{{"w", 1, 1.0}}, 1.0};
  options.adaptive = AdaptiveClipNorm{NormQuantile{0.5, 0.5}, 20, 1000};
  const auto privatizer = Make(options);
  std::vector<float> rows;  // norms 0.01 to 10
  for (int i = 1; i <= 1000; ++i) rows.push_back(0.01f * static_cast<float>(i));
  for (int step = 0; step < 60; ++step) Step(*privatizer, rows);
  EXPECT_NEAR(privatizer->clip_norm(), 5, 0.5);
}

TEST_F(Strategy, AdaptiveChargesTheStatisticInsideTheRoundsMultiplier) {
  for (const auto& rule :
       std::vector<decltype(AdaptiveClipNorm::rule)>{MeanNorm{}, NormQuantile{}}) {
    PrivatizerOptions options{{{"w", 2, 0.5}}, 1.2};
    options.adaptive = AdaptiveClipNorm{rule, 6, 100};
    const auto privatizer = Make(options);
    Step(*privatizer, {3, 4});
    ASSERT_EQ(recorder_.queries.size(), 2u);
    EXPECT_EQ(recorder_.queries[1].group(), "clip norm statistic [NON-PRIVATE TEST MODE]");
    EXPECT_NEAR(MultiplierOf(recorder_.queries[1]), 6, 1e-3);
    EXPECT_NEAR(MultiplierOf(recorder_.queries), 1.2, 1e-5);
    EXPECT_GE(MultiplierOf(recorder_.queries), 1.2 * (1 - 1e-15));
    // C moves, and the grid with it; what is accounted does not.
    const std::vector<v1::SumQuery> first = recorder_.queries;
    EXPECT_NE(privatizer->clip_norm(), 0.5);
    Step(*privatizer, {3, 4});
    EXPECT_EQ(recorder_.queries[0].l2_norm_bound(), first[0].l2_norm_bound());
    EXPECT_EQ(recorder_.queries[1].l2_norm_bound(), first[1].l2_norm_bound());
    EXPECT_NE(recorder_.queries[0].grid(), first[0].grid());
  }
}

// Zero-out: a record's row becomes zeros, and nothing moves by more than its clip norm.
TEST_F(Strategy, AQuantileDoesNotCountARowOfZeros) {
  PrivatizerOptions options{{{"w", 2, 0.5}}, 1.2};
  options.adaptive = AdaptiveClipNorm{NormQuantile{}, 6, 100};
  auto sum = ClippedSum::Create(options);
  ASSERT_TRUE(sum.ok());
  ASSERT_EQ(sum->Accumulate({0, 0, -0.0f, 0}), absl::OkStatus());
  EXPECT_THAT(sum->sums(), ::testing::Each(0));
  const std::vector<float> zeros = {0, 0};
  ASSERT_EQ(sum->Accumulate({zeros.data(), 1, 2}, {0.0}), absl::OkStatus());
  EXPECT_THAT(sum->sums(), ::testing::Each(0));
  // The least norm there is counts.
  ASSERT_EQ(sum->Accumulate(std::vector<float>{0, 1e-45f}), absl::OkStatus());
  EXPECT_GT(sum->sums()[2], 0);
  sum->Clear();
  ASSERT_EQ(sum->Accumulate(std::vector<float>{0, 1}), absl::OkStatus());
  EXPECT_LT(sum->sums()[2], 0);
}

// What is not finite moves neither sum.
TEST_F(Strategy, AdaptiveIgnoresWhatIsNotFinite) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  for (const auto& rule :
       std::vector<decltype(AdaptiveClipNorm::rule)>{MeanNorm{}, NormQuantile{}}) {
    PrivatizerOptions options{{{"w", 2, 0.5}}, 1.2};
    options.adaptive = AdaptiveClipNorm{rule, 6, 100};
    auto sum = ClippedSum::Create(options);
    ASSERT_TRUE(sum.ok());
    ASSERT_EQ(sum->Accumulate({nan, 1, 1, infinity, -infinity, nan}), absl::OkStatus());
    EXPECT_THAT(sum->sums(), ::testing::Each(0));
  }
}

TEST_F(Strategy, RanksTogetherReleaseWhatOneProcessDoes) {
  PrivatizerOptions options{{{"w", 3, 1.0}}, 1.1};
  options.adaptive = AdaptiveClipNorm{MeanNorm{}, 6, 4};
  const std::vector<std::vector<float>> shares = {{1, 2, 3, 0.1f, 0, 0}, {}, {-7, 1e-9f, 1e30f}};
  std::vector<float> all;
  for (const auto& share : shares) all.insert(all.end(), share.begin(), share.end());
  const auto alone = Make(options), leader = Make(options);
  std::vector<ClippedSum> ranks;
  for (size_t i = 0; i < shares.size(); ++i) ranks.push_back(*ClippedSum::Create(options));
  for (int step = 0; step < 3; ++step) {
    ASSERT_EQ(leader->BeginStep(accountant::SamplingScheme()), absl::OkStatus());
    for (size_t i = 0; i < ranks.size(); ++i) {
      ASSERT_EQ(ranks[i].SetClipNorm(leader->clip_norm()), absl::OkStatus());
      ASSERT_EQ(ranks[i].Accumulate(shares[i]), absl::OkStatus());
      ASSERT_EQ(leader->AddSums(ranks[i].sums(), ranks[i].rows()), absl::OkStatus());
      ranks[i].Clear();
    }
    EXPECT_EQ(*leader->Finish(), Step(*alone, all));
    EXPECT_EQ(leader->clip_norm(), alone->clip_norm());
  }
  ASSERT_EQ(leader->BeginStep(accountant::SamplingScheme()), absl::OkStatus());
  EXPECT_EQ(leader->AddSums({1, 2, 3}, 1).message(), "sums: must be 4, got 3");
}

TEST_F(Strategy, KnownNormsGiveTheSameSums) {
  PrivatizerOptions options{{{"a", 2, 1.0}, {"b", 1, 0.5}}, 1.0};
  const std::vector<float> gradients = {3, 4, 0.25f, 0.1f, 0, -2};
  auto two_pass = ClippedSum::Create(options), one_pass = ClippedSum::Create(options);
  ASSERT_EQ(two_pass->Accumulate(gradients), absl::OkStatus());
  const GradientRows rows = {gradients.data(), 2, 3};
  const double up = 1 + 1e-15;
  ASSERT_EQ(one_pass->Accumulate(rows, {5 * up, 0.25, 0.1, 2 * up}), absl::OkStatus());
  EXPECT_EQ(one_pass->sums(), two_pass->sums());
  EXPECT_EQ(one_pass->Accumulate(rows, {1, 2, 3}).message(),
            "norms: must be one for each row and group, 4, got 3");
}

TEST_F(Strategy, LyingNormsNeverPassTheBound) {
  PrivatizerOptions options{{{"w", 2, 1.0}}, 1.0};
  const std::vector<float> gradient = {3, 4};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double lie :
       {0.0, -1.0, 1e-300, 4.0, 1e300, nan, std::numeric_limits<double>::infinity()}) {
    auto sum = ClippedSum::Create(options);
    ASSERT_EQ(sum->Accumulate({gradient.data(), 1, 2}, {lie}), absl::OkStatus());
    const auto bound = sum->groups()[0].norm_bound;
    EXPECT_LE(sum->sums()[0] * sum->sums()[0] + sum->sums()[1] * sum->sums()[1], bound * bound)
        << lie;
  }
}

TEST_F(Strategy, RefusesOptionsOutOfTheirDomain) {
  const auto message = [&](void (*spoil)(PrivatizerOptions&)) {
    PrivatizerOptions options{{{"w", 3, 1.0}}, 1.0};
    options.adaptive = AdaptiveClipNorm{MeanNorm{}, 6, 100};
    spoil(options);
    const absl::Status status = Privatizer::Create(options, &recorder_).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  using Options = PrivatizerOptions;
  EXPECT_EQ(message([](Options& o) {
              o.groups[0].parts = {{1, 1.0}};
            }),
            "groups[0].parts: must add up to the group's 3, got 1");
  EXPECT_THAT(message([](Options& o) {
                o.groups[0].parts = {{1, 1.0}, {2, 0}};
              }),
              HasSubstr("groups[0].parts[1].scale: must be in [1e-30, 1e30], got 0"));
  EXPECT_EQ(message([](Options& o) { o.groups[0].normalise = Normalise{0.1}; }),
            "groups[0].clip_norm: must be 0 where gradients are normalised, got 1");
  EXPECT_THAT(message([](Options& o) {
                o.adaptive.reset();
                o.groups[0].clip_norm = 0;
                o.groups[0].normalise = Normalise{0};
              }),
              HasSubstr("groups[0].gamma: must be in [1e-30, 1e30], got 0"));
  EXPECT_EQ(message([](Options& o) {
              o.groups.push_back({"b", 1, 1.0});
            }),
            "adaptive: needs exactly one group, which has a clip norm");
  EXPECT_EQ(message([](Options& o) { o.microbatches = true; }),
            "adaptive: must be absent with microbatches, which have no norms of records");
  EXPECT_EQ(message([](Options& o) { o.adaptive->noise_multiplier = 1; }),
            "adaptive.noise_multiplier: must be finite and above the round's, 1, got 1");
  EXPECT_EQ(message([](Options& o) { o.adaptive->expected_batch_size = 0; }),
            "adaptive.expected_batch_size: must be in [1e-09, 1e+15], got 0");
  EXPECT_EQ(message([](Options& o) {
              o.adaptive->rule = MeanNorm{0, 1};
            }),
            "adaptive.alpha: must be in [0.001, 1000], got 0");
  EXPECT_EQ(message([](Options& o) {
              o.adaptive->rule = NormQuantile{1.5, 1};
            }),
            "adaptive.quantile: must be in [0, 1], got 1.5");
  EXPECT_EQ(message([](Options& o) {
              o.adaptive->rule = NormQuantile{0.5, 0};
            }),
            "adaptive.learning_rate: must be in [1e-06, 10], got 0");
}

}  // namespace
}  // namespace dpledger::client
