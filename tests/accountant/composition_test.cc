#include "accountant/mechanism/composition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>

#include "accountant/accountant.h"
#include "accountant/mechanism/joint_noise.h"
#include "accountant/numeric/rounding.h"
#include "accountant/pair/sampling.h"
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
  EXPECT_EQ(composition->steps[0].noise_multiplier.lower(), 4);
  EXPECT_EQ(composition->steps[0].noise_multiplier.upper(), 4);
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
  EXPECT_EQ(composition->steps.at(0).noise_multiplier.lower(), 0.5);
  // Gaussian(1) under replace-one at δ = 1e-5: 9.997 in a library that doubles the distance, 4.729
  // in one that does not.
  EXPECT_NEAR(ComputeEpsilon(*composition, 1e-5, {})->value.upper(), 9.997, 1e-3);
}

std::string Refusal(const History& history, const Neighbours& neighbours) {
  const absl::Status status = Resolve(history, neighbours).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ReasonOf(status).reason, "NO_ANALYSIS");
  return std::string(status.message());
}
History Of(Mechanism mechanism) {
  History history;
  history.Add("w", std::move(mechanism));
  return history;
}
const std::vector<SumQuery> kQuery = {{"g", 1, 1}};

TEST(Resolve, WhatHasNoAnalysisIsRefusedByName) {
  const auto add = Adjacency::kAddOrRemoveOne, replace = Adjacency::kReplaceOne;
  Neighbours two = add;
  two.group_size = 2;
  EXPECT_THAT(Refusal(Rounds({10, WithoutReplacement{3}}, kQuery, 1), two),
              HasSubstr("without_replacement: no analysis under ADD_OR_REMOVE_ONE for groups"));
  EXPECT_THAT(Refusal(Rounds({10, WithReplacement{3}}, kQuery, 1), two),
              HasSubstr("with_replacement: no analysis under ADD_OR_REMOVE_ONE for groups"));
  EXPECT_THAT(Refusal(Rounds({10, DisjointBatches{3, 0}}, kQuery, 3), add),
              HasSubstr("disjoint_batches (removing a record shifts the other batches"));
  const std::vector<SumQuery> discrete = {{"g", 1, 1, NoiseKind::kDiscreteGaussian}};
  EXPECT_THAT(Refusal(Rounds(Poisson(.1), discrete, 1), replace),
              HasSubstr("DISCRETE_GAUSSIAN on a sample by poisson"));
  EXPECT_THAT(Refusal(Rounds({10, WithoutReplacement{3}}, discrete, 1), add),
              HasSubstr("DISCRETE_GAUSSIAN on a sample by without_replacement"));
  EXPECT_THAT(Refusal(Rounds({10, DisjointBatches{3, 0}}, discrete, 3), replace),
              HasSubstr("DISCRETE_GAUSSIAN on a sample by disjoint_batches"));
  const Mechanism stated{1, ZCDp{.1, 0}};
  EXPECT_THAT(Refusal(Of({1, PoissonSampled{.1, {stated}}}), Adjacency::kZeroOut),
              HasSubstr("poisson_sampled of what is not noise on one sum"));
  EXPECT_THAT(Refusal(Of({1, SampledWithoutReplacement{10, 2, {stated}}}), add),
              HasSubstr("no analysis under ADD_OR_REMOVE_ONE"));
  EXPECT_THAT(Refusal(Of({1, Unsupported{"sparse vector"}}), add),
              HasSubstr("mechanism unsupported (sparse vector)"));
  EXPECT_THAT(Refusal(Of({1, RandomizedResponse{.5, 2}}), add),
              HasSubstr("mechanism randomized_response"));
  EXPECT_THAT(Refusal(Of({1, SingleEpochTreeAggregation{1, {8}}}), add),
              HasSubstr("single_epoch_tree_aggregation (removing a record shifts the others"));
  const Mechanism both{1, Composed{{{1, Gaussian{1}}, {1, EpsilonDelta{1, 0}}}}};
  EXPECT_THAT(Refusal(Of({1, PoissonSampled{.1, {both}}}), add),
              HasSubstr("poisson_sampled of Gaussians beside what is not noise on one sum"));
  const Mechanism laplace{1, Laplace{1}};
  EXPECT_THAT(Refusal(Of({1, PoissonSampled{.1, {laplace}}}), replace),
              HasSubstr("poisson_sampled of anything but Gaussians"));
  const Mechanism search{1, RepeatAndSelect{{laplace}, 3, 1}};
  EXPECT_THAT(Refusal(Of({1, PoissonSampled{.1, {search}}}), add),
              HasSubstr("poisson_sampled of what has no distribution of its loss"));
  // What is drawn before changes how many records, or which in which step, the inner one sees.
  const Mechanism truncated{1, TruncatedSubsampledGaussian{1000, 1, 1, 1}};
  EXPECT_THAT(Refusal(Of({1, PoissonSampled{.001, {truncated}}}), add),
              HasSubstr("poisson_sampled of what depends on the number of records"));
  // A search of one run is that run, and was once answered [0.19, 2.51] here.
  const Mechanism searched{1, RepeatAndSelect{{truncated}, 1, 0}};
  EXPECT_THAT(Refusal(Of({1, PoissonSampled{.1, {searched}}}), add),
              HasSubstr("poisson_sampled of what depends on the number of records"));
  const Mechanism tree{1, MatrixMechanism{TreeEncoder{8, Participation{1, 1}}, 1}};
  EXPECT_THAT(Refusal(Of({1, PoissonSampled{.01, {tree}}}), Adjacency::kZeroOut),
              HasSubstr("poisson_sampled of what is not noise on one sum"));
  EXPECT_THAT(Refusal(Of({1, MixtureOfGaussians{1e-200, {0, 1}, {.5, .5}}}), add),
              HasSubstr("sensitivity above 1e100 deviations"));
  EXPECT_THAT(Refusal(Rounds({uint64_t{1} << 40, TruncatedPoisson{.1, 3}}, kQuery, 1), add),
              HasSubstr("truncated_poisson from more than 10^10 records"));
  EXPECT_THAT(Refusal(Of({1, SampledWithoutReplacement{10, 2, {laplace}}}), replace),
              HasSubstr("sampled_without_replacement of anything but Gaussians"));
  EXPECT_THAT(Refusal(Of({1, MixtureOfGaussians{1, {0, 1}, {.5, .5}}}), replace),
              HasSubstr("mixture_of_gaussians"));
}

// Trees whose worst participation is more than can be worked out are bounded, however many: the
// attempts have a budget of their own.
TEST(Resolve, ManyTreesAreAnswered) {
  History history;
  for (uint64_t i = 0; i < 40; ++i) {
    history.Add(
        "w", Mechanism{1, MatrixMechanism{TreeEncoder{65536, Participation{50, 1000 + i}}, 100.0}});
  }
  const absl::StatusOr<Composition> found = Resolve(history, Adjacency::kZeroOut);
  EXPECT_TRUE(found.ok()) << found.status();
}

// What was stated under one adjacency says nothing about another.
TEST(Resolve, StatementsHoldAsDeclaredOnly) {
  Neighbours asked = Adjacency::kZeroOut;
  asked.declared = Adjacency::kReplaceOne;
  for (const Mechanism& statement :
       {Mechanism{1, EpsilonDelta{1, 0}}, Mechanism{1, ZCDp{.1, 0}},
        Mechanism{1, RenyiCurve{{2}, {1}}}, Mechanism{1, RandomizedResponse{.5, 2}},
        Mechanism{1, ExponentialMechanism{1}}, Mechanism{1, PermuteAndFlip{1}},
        Mechanism{1, Shuffled{1, 9}}}) {
    EXPECT_THAT(Refusal(Of(statement), asked),
                HasSubstr("which holds under REPLACE_ONE as declared: no analysis under ZERO_OUT"));
    EXPECT_TRUE(Resolve(Of(statement), Adjacency::kReplaceOne).ok());
  }
}

// ε = 1/threshold noise + 2c/query noise, once c where all queries move the same way.
TEST(Resolve, SparseVectorsSpendOnTheThresholdAndOnEachAnswer) {
  const auto greatest = [](const SparseVector& run, Neighbours neighbours, uint64_t group = 1) {
    neighbours.group_size = group;
    const auto composition = Resolve(Of({3, run}), neighbours);
    EXPECT_TRUE(composition.ok()) << composition.status();
    return ComputeEpsilon(*composition, 0, {})->value;
  };
  const auto added = Adjacency::kAddOrRemoveOne;
  for (const auto& [run, one] :
       std::vector<std::pair<SparseVector, double>>{{{2, 4, 1, false}, .5 + .5},
                                                    {{2, 4, 1, true}, .5 + .25},
                                                    {{2, 4, 7, false}, .5 + 3.5},
                                                    {{8, 40, 7, true}, .125 + .175}}) {
    const Interval found = greatest(run, added);
    EXPECT_GE(found.upper(), 3 * one);
    EXPECT_NEAR(found.upper(), 3 * one, 1e-6);
    EXPECT_EQ(found.lower(), 0);
    EXPECT_NEAR(greatest(run, Adjacency::kZeroOut).upper(), 3 * one, 1e-6);
    EXPECT_NEAR(greatest(run, Adjacency::kReplaceOne).upper(), 6 * one, 1e-6);
    EXPECT_NEAR(greatest(run, added, 5).upper(), 15 * one, 1e-6);
  }
  EXPECT_EQ(greatest({1e-3, 4, 1, false}, added).upper(), std::numeric_limits<double>::infinity());
}

// Two runs of an exponential mechanism of ε = 0 once ended the process.
TEST(Resolve, ChoicesWithoutScoresRevealNothing) {
  for (const Mechanism& choice :
       {Mechanism{2, ExponentialMechanism{0}}, Mechanism{2, PermuteAndFlip{0}}}) {
    const auto composition = Resolve(Of(choice), Adjacency::kAddOrRemoveOne);
    ASSERT_TRUE(composition.ok()) << composition.status();
    EXPECT_TRUE(composition->Empty());
    EXPECT_EQ(ComputeEpsilon(*composition, 1e-6, {})->value.upper(), 0);
  }
}

TEST(Resolve, ReplaceOneDoublesEveryDistance) {
  const auto replace = Adjacency::kReplaceOne;
  EXPECT_EQ(Resolve(Of({1, Laplace{1}}), replace)->pairs.at(0).upper,
            LaplacePair(2, Bound::kUpper));
  EXPECT_EQ(Resolve(Of({1, DiscreteLaplace{.5, 3}}), replace)->pairs.at(0).upper,
            DiscreteLaplacePair(.5, 6, Bound::kUpper));
  EXPECT_EQ(Resolve(Of({1, MatrixMechanism{StatedSensitivity{2.0}, 4}}), replace)
                ->steps.at(0)
                .noise_multiplier.upper(),
            1);
  EXPECT_EQ(Resolve(Rounds({10, WithoutReplacement{2}}, kQuery, 7), replace)->pairs.at(0).upper,
            WithoutReplacementPair(Quotient(2, 10).upper(), 2));
  EXPECT_EQ(Resolve(Rounds(Poisson(.1), kQuery, 1), replace)->pairs.at(0).upper,
            OpposedGaussianPair(.1, 1, 1));
}

TEST(Resolve, GroupsMultiplyDistancesAndMixSamples) {
  Neighbours three = Adjacency::kAddOrRemoveOne;
  three.group_size = 3;
  EXPECT_TRUE(Resolve(Of({1, Gaussian{6}}), three)->steps.at(0).noise_multiplier.Contains(2));
  EXPECT_EQ(Resolve(Of({1, Laplace{1}}), three)->pairs.at(0).upper, LaplacePair(3, Bound::kUpper));
  EXPECT_EQ(Resolve(Rounds(Poisson(.1), kQuery, 5), three)->pairs.at(0).upper,
            GroupSampledGaussianPair(3, .1, 1, Bound::kUpper));
  EXPECT_THAT(Refusal(Of({1, EpsilonDelta{1, 0}}), three),
              HasSubstr("mechanism epsilon_delta: no analysis under ADD_OR_REMOVE_ONE for groups "
                        "of 3 records"));
}

// A record is in one batch of an epoch; two writers' epochs are two.
TEST(Resolve, EpochsAreTheUnitOfEpochSchemes) {
  const auto zero = Adjacency::kZeroOut;
  History history;
  for (uint64_t round = 0; round < 5; ++round) {
    for (const char* writer : {"a", "b"}) {
      history.Add(writer, SamplingEvent{round, {0, DisjointBatches{4, round / 4}}});
      history.Add(writer, SumQueryEvent{round, {"g", 1, round == 2 ? 1.0 : 2.0}});
    }
  }
  const auto composition = Resolve(history, zero);
  // Each writer: epoch 0 with the least noise of its rounds, epoch 1 begun.
  ASSERT_EQ(composition->steps.size(), 2u);
  EXPECT_EQ(composition->steps[0].noise_multiplier.lower(), 1);
  EXPECT_EQ(composition->steps[0].count, 2u);
  EXPECT_EQ(composition->steps[1].noise_multiplier.lower(), 2);
  EXPECT_EQ(composition->steps[1].count, 2u);
  EXPECT_THAT(composition->warnings, ::testing::IsEmpty());
  // Ledgers are other writers, whatever their writers are called.
  History both = history;
  both.Merge(history);
  EXPECT_EQ(Resolve(both, zero)->steps.at(1).count, 4u);

  const auto allocated = Resolve(Rounds({0, RandomAllocation{8, 0}}, kQuery, 24), zero);
  ASSERT_EQ(allocated->allocations.size(), 1u);
  EXPECT_EQ(allocated->allocations[0].rounds, 8u);
  EXPECT_EQ(allocated->allocations[0].count, 3u);
}

TEST(Resolve, ASampleOfASampleHasTheProductsRate) {
  const Mechanism inner{1, PoissonSampled{.5, {Mechanism{1, Gaussian{1}}}}};
  const auto composition =
      Resolve(Of({4, PoissonSampled{.25, {inner}}}), Adjacency::kAddOrRemoveOne);
  ASSERT_EQ(composition->pairs.size(), 1u);
  EXPECT_EQ(composition->pairs[0].lower, SampledGaussianPair(NextDown(.125), 1));
  EXPECT_EQ(composition->pairs[0].count, 4u);
}

// Their squares once underflowed: z was seven times what it is.
TEST(Resolve, ToeplitzCoefficientsHaveNoScale) {
  std::vector<double> coefficients(1001, 1.5e-162);
  coefficients[0] = 1e-161;
  const Mechanism small{
      1, MatrixMechanism{ToeplitzEncoder{1001, coefficients, Participation{1, 1}}, 1e-161}};
  const auto composition = Resolve(Of(small), Adjacency::kZeroOut);
  EXPECT_TRUE(composition->steps.at(0).noise_multiplier.Contains(1 / std::sqrt(23.5)));
}

constexpr auto kOneByOne = CyclicPoisson::Groups::kDrawnOneByOne;
constexpr auto kEqual = CyclicPoisson::Groups::kOfEqualSize;
MatrixMechanism Cyclic(uint64_t steps, std::vector<double> coefficients, CyclicPoisson cyclic) {
  return {ToeplitzEncoder{steps, std::move(coefficients), cyclic}, 4};
}

// Steps 0, 4 and 8 of ten: three rows of the first two columns, two of the last one.
TEST(Resolve, CyclicPoissonIsTheRoundsOfTheFirstGroup) {
  const auto composition =
      Resolve(Of({3, Cyclic(10, {1, .5, .25}, {4, .1, kOneByOne})}), Adjacency::kAddOrRemoveOne);
  ASSERT_TRUE(composition.ok()) << composition.status();
  ASSERT_EQ(composition->steps.size(), 2u);
  const SampledGaussian &whole = composition->steps[0], &last = composition->steps[1];
  EXPECT_EQ(whole.count, 6u);
  EXPECT_TRUE(whole.noise_multiplier.Contains(4 / std::sqrt(1.3125)));
  EXPECT_EQ(last.count, 3u);
  EXPECT_TRUE(last.noise_multiplier.Contains(4 / std::sqrt(1.25)));
  for (const SampledGaussian& step : composition->steps) {
    EXPECT_EQ(step.sampling_probability, .1);
    EXPECT_LT(step.noise_multiplier.RelativeGap(), 1e-13);
  }
  EXPECT_EQ(composition->schemes, std::set<std::string>{"cyclic_poisson"});
}

TEST(Resolve, CyclicPoissonOfEveryRecordOrOfEveryStepIsKnownOtherwise) {
  // All of a group: the limits on participation that it keeps.
  const auto all = Resolve(Of({1, Cyclic(10, {1, .5}, {4, 1, kEqual})}), Adjacency::kZeroOut);
  const auto limited =
      Resolve(Of({1, MatrixMechanism{ToeplitzEncoder{10, {1, .5}, Participation{3, 4}}, 4}}),
              Adjacency::kZeroOut);
  ASSERT_EQ(all->steps.size(), 1u);
  EXPECT_EQ(all->steps[0].count, 3u);
  EXPECT_NEAR(all->steps[0].noise_multiplier.lower() / std::sqrt(3),
              limited->steps.at(0).noise_multiplier.lower(), 1e-12);
  // Independent noise in every step: DP-SGD.
  const auto sgd =
      Resolve(Of({1, Cyclic(10, {2}, {1, .1, kOneByOne})}), Adjacency::kAddOrRemoveOne);
  ASSERT_EQ(sgd->steps.size(), 1u);
  EXPECT_EQ(sgd->steps[0].count, 10u);
  EXPECT_TRUE(sgd->steps[0].noise_multiplier.Contains(2));
}

TEST(Resolve, GroupsOfEqualSizeAreRefusedWhereRemovalWouldMoveRecords) {
  const auto refused =
      Resolve(Of({1, Cyclic(10, {1}, {4, .1, kEqual})}), Adjacency::kAddOrRemoveOne).status();
  EXPECT_EQ(ReasonOf(refused).reason, "NO_ANALYSIS");
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("cyclic_poisson in groups of equal size (removing a record moves others to "
                        "other groups; draw the groups one by one"));
}

TEST(Resolve, MinSeparationSamplingIsRefusedByName) {
  const auto refused =
      Resolve(Of({1, MatrixMechanism{ToeplitzEncoder{10, {1}, MinSeparationSampling{.1, 4}}, 4}}),
              Adjacency::kZeroOut)
          .status();
  EXPECT_EQ(ReasonOf(refused).reason, "NO_ANALYSIS");
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("min_separation_sampling (its cost is only estimated by simulation, no "
                        "bound is proved; sample by cyclic_poisson or balls_in_bins)"));
}

TEST(Resolve, WorkOnEncodersIsBounded) {
  History history;
  for (uint64_t i = 0; i < 4096; ++i) {
    history.Add("w",
                Mechanism{1, MatrixMechanism{
                                 TreeEncoder{(uint64_t{1} << 50) + i, Participation{1024, 1}}, 1}});
  }
  EXPECT_EQ(ReasonOf(Resolve(history, Adjacency::kZeroOut).status()).reason, "QUERY_TOO_LARGE");
}

TEST(Resolve, SelectionKeepsItsRunAndOneRunIsNoSelection) {
  const Mechanism run{7, Gaussian{2}};
  const auto selection =
      Resolve(Of({2, RepeatAndSelect{{run}, 10, 1}}), Adjacency::kAddOrRemoveOne);
  ASSERT_EQ(selection->curves.size(), 1u);
  EXPECT_EQ(selection->curves[0].count, 2u);
  EXPECT_EQ(std::get<BestOf>(selection->curves[0].renyi).run->steps.at(0).count, 7u);
  const auto once = Resolve(Of({2, RepeatAndSelect{{run}, 1, 1}}), Adjacency::kAddOrRemoveOne);
  EXPECT_EQ(once->steps.at(0).count, 14u);
}

TEST(Resolve, EqualMechanismsAreCountedTogether) {
  History history;
  for (int i = 0; i < 3; ++i) history.Add("w", Mechanism{2, Laplace{.5}});
  history.Add("w", Mechanism{1, Laplace{.25}});
  const auto composition = Resolve(history, Adjacency::kAddOrRemoveOne);
  ASSERT_EQ(composition->pairs.size(), 2u);
  EXPECT_EQ(composition->pairs[0].count, 6u);
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
  const double epsilon =
      ComputeEpsilon(*composition, 1e-5, {.method = Method::kRdp})->value.upper();
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
  EXPECT_NEAR(composition->steps[0].noise_multiplier.lower(), 0.2328, 1e-3);
}

// Their squares leave the range of doubles: μ was once NaN, and ε zero.
TEST(Resolve, NoiseMultipliersBeyondSquaringAreRefused) {
  for (const double stddev : {1e-200, 1e200}) {
    const auto composition =
        Resolve(Rounds({0, FullBatch{}}, {{"g", 1, stddev}}, 1), Adjacency::kAddOrRemoveOne);
    EXPECT_EQ(ReasonOf(composition.status()).reason, "INVALID_FIELD");
    EXPECT_THAT(std::string(composition.status().message()),
                HasSubstr("queries[0].noise_stddev: must be 1e-100 to 1e100 times"));
    EXPECT_EQ(
        ReasonOf(Resolve(Of({1, Gaussian{stddev}}), Adjacency::kAddOrRemoveOne).status()).reason,
        "NO_ANALYSIS");
  }
  const auto smallest =
      Resolve(Rounds({0, FullBatch{}}, {{"g", 1, 1e-100}}, 1), Adjacency::kAddOrRemoveOne);
  EXPECT_GT(ComputeEpsilon(*smallest, 1e-5, {})->value.lower(), 1e199);
}

TEST(Resolve, NonPrivateIsInfinite) {
  History history;
  history.Add("w", Mechanism{1, NonPrivate{}});
  const auto composition = Resolve(history, Adjacency::kAddOrRemoveOne);
  EXPECT_TRUE(std::isinf(ComputeEpsilon(*composition, 1e-5, {})->value.lower()));
  EXPECT_EQ(ComputeDelta(*composition, 3, {})->value.lower(), 1);
}

TEST(Epsilon, OfNothingIsZero) {
  const auto composition = Resolve(History(), Adjacency::kAddOrRemoveOne);
  EXPECT_EQ(ComputeEpsilon(*composition, 1e-5, {})->value.upper(), 0);
  EXPECT_EQ(ComputeDelta(*composition, 0, {})->value.upper(), 0);
}

TEST(Epsilon, BestNamesItsMethod) {
  const auto unsampled =
      Resolve(Rounds({0, FullBatch{}}, {{"g", 1, 1}}, 5), Adjacency::kAddOrRemoveOne);
  EXPECT_EQ(ComputeEpsilon(*unsampled, 1e-5, {})->method, Method::kGaussian);
  const auto sampled = Resolve(Rounds(Poisson(.1), {{"g", 1, 1}}, 5), Adjacency::kAddOrRemoveOne);
  EXPECT_EQ(ComputeEpsilon(*sampled, 1e-5, {})->method, Method::kContour);
  const auto extreme =
      Resolve(Rounds(Poisson(.5), {{"g", 1, 0.01}}, 5), Adjacency::kAddOrRemoveOne);
  // So little noise that each inclusion shows: in closed form, and out of the grid's reach.
  EXPECT_EQ(ComputeEpsilon(*extreme, 1e-5, {})->method, Method::kGaussian);
  const auto answer = ComputeEpsilon(*extreme, 1e-5, {.method = Method::kPld});
  EXPECT_EQ(answer->method, Method::kRdp);
  EXPECT_THAT(answer->warnings, ::testing::Contains(HasSubstr("out of reach")));
}

// The grid met the wanted gap, and stayed 6e-8 above the Rényi bound.
TEST(Epsilon, BestIsTheLeastOfAll) {
  History history;
  history.Add("w", Mechanism{2, RandomizedResponse{.5486, 2}});
  const auto composition = Resolve(history, Adjacency::kZeroOut);
  const auto of = [&](Method method) {
    return ComputeEpsilon(*composition, 5.2e-4, {.method = method})->value;
  };
  EXPECT_LT(of(Method::kRdp).upper(), of(Method::kPld).upper());
  EXPECT_EQ(of(Method::kBest).upper(), of(Method::kRdp).upper());
  EXPECT_EQ(of(Method::kBest).lower(), of(Method::kPld).lower());
}

TEST(Epsilon, RefusesWhatItCannotAnswer) {
  const auto sampled = Resolve(Rounds(Poisson(.1), {{"g", 1, 1}}, 5), Adjacency::kAddOrRemoveOne);
  EXPECT_EQ(ComputeEpsilon(*sampled, 1e-5, {.method = Method::kGaussian}).status().code(),
            absl::StatusCode::kFailedPrecondition);
  for (const double delta : {1.0, -1.0, std::nan("")}) {
    const absl::Status status = ComputeEpsilon(*sampled, delta, {}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr("delta: must be in [0, 1)"));
  }
  for (const double epsilon : std::initializer_list<double>{-1.0, INFINITY, std::nan("")}) {
    EXPECT_THAT(std::string(ComputeDelta(*sampled, epsilon, {}).status().message()),
                HasSubstr("epsilon: must be finite and >= 0"));
  }
  EXPECT_THAT(std::string(ComputeEpsilon(*sampled, 1e-5, {.relative_gap = 0}).status().message()),
              HasSubstr("options.relative_gap: must be in [1e-9, 1], got 0"));
}

// What an answer rests on depends on how the noise was made.
TEST(Assumptions, NameTheNoise) {
  const auto assumptions = [](NoiseKind noise) {
    const auto composition =
        Resolve(Of({1, MatrixMechanism{StatedSensitivity{2.0}, 4, noise}}), Adjacency::kZeroOut);
    return composition->assumptions;
  };
  EXPECT_THAT(assumptions(NoiseKind::kGaussian),
              ::testing::ElementsAre(HasSubstr("floating-point noise: ")));
  EXPECT_THAT(assumptions(NoiseKind::kRoundedGaussian),
              ::testing::ElementsAre(HasSubstr("generated noise: ")));
}

// The number of records is a secret where one may be missing; a wrong population makes a sampling
// probability wrong, as 45,000 times in one published run.
TEST(Resolve, PopulationsAreConstantsAndOne) {
  const auto of = [](uint64_t first, uint64_t second, Adjacency adjacency) {
    History history = Rounds({first, PoissonSampling{.3}}, {{"g", 1, 2}}, 3);
    history.Add("w", RoundsEvent{{{second, PoissonSampling{.01}}, {{"g", 1, 2}}}, 3});
    return *Resolve(history, adjacency);
  };
  const std::string constant = "is a constant chosen beforehand", differ = "different populations";
  const auto holds = [](const std::set<std::string>& texts, const std::string& part) {
    return std::any_of(texts.begin(), texts.end(), [&](const std::string& text) {
      return text.find(part) != std::string::npos;
    });
  };
  const Composition same = of(1000, 1000, Adjacency::kAddOrRemoveOne);
  EXPECT_TRUE(holds(same.assumptions, constant));
  EXPECT_FALSE(holds(same.warnings, differ));
  const Composition other = of(100'000, 50, Adjacency::kAddOrRemoveOne);
  EXPECT_TRUE(holds(other.warnings, "rounds state different populations, from 50 to 100000"));
  EXPECT_FALSE(holds(of(0, 50, Adjacency::kAddOrRemoveOne).warnings, differ)) << "one states none";
  EXPECT_FALSE(holds(of(0, 0, Adjacency::kAddOrRemoveOne).assumptions, constant));
  EXPECT_FALSE(holds(of(50, 50, Adjacency::kZeroOut).assumptions, constant))
      << "the size is public";
}

}  // namespace
}  // namespace dpledger::accountant
