#include "accountant/mechanism/composition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "accountant/accountant.h"
#include "base/status.h"

namespace dpledger::accountant {
namespace {

using ::testing::HasSubstr;

History Rounds(SamplingScheme scheme, std::vector<SumQuery> queries, uint64_t count) {
  History history;
  history.Add("w", RoundsEvent{{std::move(scheme), std::move(queries)}, count});
  return history;
}
SamplingScheme Poisson(double q) { return {0, PoissonSampling{q}}; }

TEST(Resolve, ExactQuotientsStayPoints) {
  const auto composition =
      Resolve(Rounds(Poisson(0.1), {{"g", 0.5, 2}}, 3), Adjacency::kAddOrRemoveOne);
  ASSERT_TRUE(composition.ok());
  ASSERT_EQ(composition->steps.size(), 1u);
  EXPECT_EQ(composition->steps[0].noise_multiplier.lower, 4);
  EXPECT_EQ(composition->steps[0].noise_multiplier.upper, 4);
}

// McMahan et al. 2018, eq. 1: z = (Σ (S/σ)²)^(-1/2).
TEST(Resolve, SeveralQueriesOnOneSampleAreOneGaussian) {
  const auto composition =
      Resolve(Rounds(Poisson(0.1), {{"a", 1, 2}, {"b", 3, 4}, {"c", 0.1, 7}}, 1),
              Adjacency::kAddOrRemoveOne);
  const double z = 1 / std::sqrt(0.25 + 9.0 / 16 + 0.01 / 49);
  const Interval found = composition->steps.at(0).noise_multiplier;
  EXPECT_TRUE(found.Contains(z));
  EXPECT_LT(found.RelativeGap(), 1e-14);
}

TEST(Resolve, ReplaceOneDoublesTheDistanceOfUnsampledGaussians) {
  const auto composition =
      Resolve(Rounds({0, FullBatch{}}, {{"g", 1, 1}}, 1), Adjacency::kReplaceOne);
  EXPECT_EQ(composition->steps.at(0).noise_multiplier.lower, 0.5);
  // Gaussian(1) under replace-one at δ = 1e-5: 9.997 in a library that doubles the distance, 4.729
  // in one that does not.
  EXPECT_NEAR(ComputeEpsilon(*composition, 1e-5, {})->value.upper, 9.997, 1e-3);
}

TEST(Resolve, WhatHasNoAnalysisIsRefusedByName) {
  const auto refusal = [](const History& history, Adjacency adjacency) {
    const absl::Status status = Resolve(history, adjacency).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(ReasonOf(status).reason, "NO_ANALYSIS");
    return std::string(status.message());
  };
  const std::vector<SumQuery> query = {{"g", 1, 1}};
  const auto add = Adjacency::kAddOrRemoveOne;
  EXPECT_THAT(refusal(Rounds({10, FixedSizeSampling{3, false}}, query, 1), add),
              HasSubstr("without_replacement"));
  EXPECT_THAT(refusal(Rounds({10, FixedSizeSampling{3, true}}, query, 1), add),
              HasSubstr("with_replacement"));
  EXPECT_THAT(refusal(Rounds({10, DisjointBatches{3, 0}}, query, 3), add),
              HasSubstr("disjoint_batches"));
  EXPECT_THAT(refusal(Rounds({10, RandomAllocation{3, 0}}, query, 3), add),
              HasSubstr("random_allocation"));
  EXPECT_THAT(refusal(Rounds({10, TruncatedPoisson{.1, 3}}, query, 1), add),
              HasSubstr("truncated_poisson"));
  EXPECT_THAT(refusal(Rounds(Poisson(.1), {{"g", 1, 1, NoiseKind::kDiscreteGaussian}}, 1), add),
              HasSubstr("DISCRETE_GAUSSIAN"));
  EXPECT_THAT(refusal(Rounds(Poisson(.1), query, 1), Adjacency::kReplaceOne),
              HasSubstr("Poisson-sampled Gaussian: no analysis under REPLACE_ONE"));
  History laplace;
  laplace.Add("w", Mechanism{1, NotAnalysed{"laplace"}});
  EXPECT_THAT(refusal(laplace, add), HasSubstr("mechanism laplace"));
  History sampled;
  sampled.Add("w", Mechanism{1, PoissonSampled{.1, {Mechanism{1, NotAnalysed{"laplace"}}}}});
  EXPECT_THAT(refusal(sampled, add), HasSubstr("poisson_sampled of anything but Gaussians"));
}

// A published library counts Composed[Gaussian(1), Gaussian(1)] inside Poisson sampling as one
// Gaussian.
TEST(Resolve, ComposedGaussiansUnderOneSampleAllCount) {
  const Mechanism gaussian{1, Gaussian{1}};
  History history;
  history.Add("w",
              Mechanism{100, PoissonSampled{.1, {Mechanism{1, Composed{{gaussian, gaussian}}}}}});
  const auto composition = Resolve(history, Adjacency::kAddOrRemoveOne);
  ASSERT_EQ(composition->steps.size(), 1u);
  EXPECT_TRUE(composition->steps[0].noise_multiplier.Contains(std::sqrt(0.5)));
  EXPECT_EQ(composition->steps[0].count, 100u);
  const double epsilon = ComputeEpsilon(*composition, 1e-5, {.method = Method::kRdp})->value.upper;
  EXPECT_LE(epsilon, 16.098 + 1e-3);  // that library, when it does count both
  EXPECT_GT(epsilon, 15.9);
}

TEST(Resolve, CountsMultiplyThroughTheTreeAndOverflowIsRefused) {
  History history;
  history.Add("w", Mechanism{3, SelfComposed{{Mechanism{5, Gaussian{2}}}, 7}});
  EXPECT_EQ(Resolve(history, Adjacency::kAddOrRemoveOne)->steps.at(0).count, 105u);
  const uint64_t big = uint64_t{1} << 53;
  history.Add("w", Mechanism{big, SelfComposed{{Mechanism{5, Gaussian{2}}}, big}});
  EXPECT_EQ(ReasonOf(Resolve(history, Adjacency::kAddOrRemoveOne).status()).reason,
            "COUNT_TOO_LARGE");
}

// 2048 · 2^53 queries on one sample once wrapped to none.
TEST(Resolve, CountsOfQueriesOnOneSampleDoNotWrap) {
  const uint64_t big = uint64_t{1} << 53;
  std::vector<Mechanism> queries(2048, Mechanism{big, Gaussian{1e9}});
  queries.push_back(Mechanism{1, Gaussian{1e9}});
  History history;
  history.Add("w", Mechanism{1, PoissonSampled{.1, {Mechanism{1, Composed{queries}}}}});
  const auto composition = Resolve(history, Adjacency::kAddOrRemoveOne);
  ASSERT_EQ(composition->steps.size(), 1u);
  EXPECT_NEAR(composition->steps[0].noise_multiplier.lower, 0.2328, 1e-3);
}

// Their squares leave the range of doubles: μ was once NaN, and ε zero.
TEST(Resolve, NoiseMultipliersBeyondSquaringAreRefused) {
  for (const double stddev : {1e-200, 1e200}) {
    const auto composition =
        Resolve(Rounds({0, FullBatch{}}, {{"g", 1, stddev}}, 1), Adjacency::kAddOrRemoveOne);
    EXPECT_EQ(ReasonOf(composition.status()).reason, "NO_ANALYSIS");
    EXPECT_THAT(std::string(composition.status().message()), HasSubstr("outside [1e-100, 1e100]"));
  }
  const auto smallest =
      Resolve(Rounds({0, FullBatch{}}, {{"g", 1, 1e-100}}, 1), Adjacency::kAddOrRemoveOne);
  EXPECT_GT(ComputeEpsilon(*smallest, 1e-5, {})->value.lower, 1e199);
}

TEST(Resolve, NonPrivateIsInfinite) {
  History history;
  history.Add("w", Mechanism{1, NonPrivate{}});
  const auto composition = Resolve(history, Adjacency::kAddOrRemoveOne);
  EXPECT_TRUE(std::isinf(ComputeEpsilon(*composition, 1e-5, {})->value.lower));
  EXPECT_EQ(ComputeDelta(*composition, 3, {})->value.lower, 1);
}

TEST(Epsilon, OfNothingIsZero) {
  const auto composition = Resolve(History(), Adjacency::kAddOrRemoveOne);
  EXPECT_EQ(ComputeEpsilon(*composition, 1e-5, {})->value.upper, 0);
  EXPECT_EQ(ComputeDelta(*composition, 0, {})->value.upper, 0);
}

TEST(Epsilon, BestNamesItsMethod) {
  const auto unsampled =
      Resolve(Rounds({0, FullBatch{}}, {{"g", 1, 1}}, 5), Adjacency::kAddOrRemoveOne);
  EXPECT_EQ(ComputeEpsilon(*unsampled, 1e-5, {})->method, Method::kGaussian);
  const auto sampled = Resolve(Rounds(Poisson(.1), {{"g", 1, 1}}, 5), Adjacency::kAddOrRemoveOne);
  EXPECT_EQ(ComputeEpsilon(*sampled, 1e-5, {})->method, Method::kContour);
  const auto extreme =
      Resolve(Rounds(Poisson(.5), {{"g", 1, 0.01}}, 5), Adjacency::kAddOrRemoveOne);
  const auto answer = ComputeEpsilon(*extreme, 1e-5, {});
  EXPECT_EQ(answer->method, Method::kRdp);
  EXPECT_THAT(answer->warnings, ::testing::Contains(HasSubstr("out of reach")));
}

TEST(Epsilon, RefusesWhatItCannotAnswer) {
  const auto sampled = Resolve(Rounds(Poisson(.1), {{"g", 1, 1}}, 5), Adjacency::kAddOrRemoveOne);
  EXPECT_EQ(ComputeEpsilon(*sampled, 1e-5, {.method = Method::kGaussian}).status().code(),
            absl::StatusCode::kFailedPrecondition);
  for (const double delta : {0.0, 1.0, -1.0, std::nan("")}) {
    const absl::Status status = ComputeEpsilon(*sampled, delta, {}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr("delta: must be in (0, 1)"));
  }
  for (const double epsilon : std::initializer_list<double>{-1.0, INFINITY, std::nan("")}) {
    EXPECT_THAT(std::string(ComputeDelta(*sampled, epsilon, {}).status().message()),
                HasSubstr("epsilon: must be finite and >= 0"));
  }
  EXPECT_THAT(std::string(ComputeEpsilon(*sampled, 1e-5, {.relative_gap = 0}).status().message()),
              HasSubstr("options.relative_gap: must be in [1e-9, 1], got 0"));
}

}  // namespace
}  // namespace dpledger::accountant
