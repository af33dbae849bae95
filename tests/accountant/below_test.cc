// The lower ends of compositions whose steps are not known exactly: what a part of the run, or a
// mechanism that a guarantee allows, shows for certain.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>

#include "accountant/accountant.h"
#include "accountant/between.h"

namespace dpledger::accountant {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Composition Of(const std::vector<Mechanism>& mechanisms) {
  History history;
  for (const Mechanism& mechanism : mechanisms) history.Add("w", mechanism);
  const auto composition = Resolve(history, Adjacency::kAddOrRemoveOne);
  EXPECT_TRUE(composition.ok()) << composition.status();
  return composition.value_or(Composition());
}

Answer AnswerOf(const Composition& composition, double delta) {
  const auto answer = ComputeEpsilon(composition, delta, {});
  EXPECT_TRUE(answer.ok()) << answer.status();
  return answer.value_or(Answer());
}

TEST(Below, AGuaranteeMayBeAGaussian) {
  for (const double rho : {1e-6, 0.02, 3.0, 700.0}) {
    const Answer stated = AnswerOf(Of({{3, ZCDp{rho, 0}}}), 1e-6);
    const double truth = AnswerOf(Of({{3, Gaussian{std::sqrt(.5 / rho)}}}), 1e-6).value.lower();
    EXPECT_NEAR(stated.value.lower(), truth, 1e-9 * truth) << rho;
    EXPECT_LE(stated.value.lower(), truth * (1 + 1e-12)) << rho;
    EXPECT_THAT(stated.warnings, Not(Contains(HasSubstr("Rényi curve alone"))));
  }
  // At every order that is stated: the second is the narrower.
  const double truth = AnswerOf(Of({{1, Gaussian{std::sqrt(.5 / .2)}}}), 1e-6).value.lower();
  const Answer stated = AnswerOf(Of({{1, RenyiCurve{{2, 10}, {1, 2}}}}), 1e-6);
  EXPECT_NEAR(stated.value.lower(), truth, 1e-9 * truth);
  EXPECT_GT(stated.value.upper(), truth);
}

// The losses of the second lie on panels below the rounding of where they are: laying them on a
// grid took all memory there is.
TEST(Below, NoiseOfAnySizeBesideOthers) {
  const auto sampled = [](double z) {
    return Mechanism{1, PoissonSampled{.01, {{1, Gaussian{z}}}}};
  };
  const Interval alone = AnswerOf(Of({sampled(1.1)}), 1e-5).value;
  for (const double z : {1e6, 1e7, 1e8, 1e9, 1e10, 1e12}) {
    const Interval both = AnswerOf(Of({sampled(1.1), sampled(z)}), 1e-5).value;
    EXPECT_GE(both.upper(), alone.lower()) << z;
    EXPECT_LE(both.lower(), alone.upper() * (1 + 1e-6)) << z;
    EXPECT_LE(both.upper(), alone.upper() * 1.01) << z;
  }
}

// ε of one discrete Gaussian in one dimension, from its masses: Σ (p - e^ε q)+ = δ.
double DiscreteGaussianEpsilon(double sigma, double shift, double delta) {
  const auto whole = [&](double k) { return std::exp(-k * k / (2 * sigma * sigma)); };
  double total = 0;
  for (double k = -40 * sigma; k <= 40 * sigma; ++k) total += whole(k);
  double low = 0, high = 1e5;
  while (high - low > 1e-9 * high) {
    const double epsilon = (low + high) / 2;
    double sum = 0;
    for (double k = shift - 40 * sigma; k <= shift + 40 * sigma; ++k) {
      const double loss = shift * (k - shift / 2) / (sigma * sigma);
      if (loss > epsilon) sum -= whole(k - shift) / total * std::expm1(epsilon - loss);
    }
    (sum > delta ? low : high) = epsilon;
  }
  return low;
}

// Of whose losses a loss grid holds a part, or next to none.
TEST(Below, ADiscreteGaussianOfGreatDistance) {
  const auto answer = [](uint64_t sensitivity) {
    return AnswerOf(Of({{1, DiscreteGaussian{2, sensitivity, 1}}}), 1e-6).value;
  };
  for (const uint64_t sensitivity : {30, 45, 60}) {
    const double truth = DiscreteGaussianEpsilon(2, static_cast<double>(sensitivity), 1e-6);
    EXPECT_LE(answer(sensitivity).lower(), truth) << sensitivity;
    EXPECT_GE(answer(sensitivity).lower(), .995 * truth) << sensitivity;
    EXPECT_GE(answer(sensitivity).upper(), truth) << sensitivity;
    EXPECT_LE(answer(sensitivity).upper(), 1.02 * truth) << sensitivity;
  }
  const double truth = DiscreteGaussianEpsilon(2, 80, 1e-6);
  EXPECT_LE(answer(80).lower(), truth);
  EXPECT_GE(answer(80).lower(), 590);
  EXPECT_GE(answer(80).upper(), truth);
  EXPECT_LE(answer(80).upper(), 1.03 * truth);
}

// The most telling choice between two candidates is not the one between two that are alike.
TEST(Below, ASelectionMayBeAnyChoiceBetweenTwo) {
  // One: δ(ε) = (e^{½} - e^{ε/2})²/(e - 1) of a mechanism of 1-bounded range.
  for (const double delta : {1e-6, 1e-2, 0.1}) {
    const double truth = 2 * std::log(std::exp(.5) - std::sqrt(delta * std::expm1(1)));
    const Interval one = AnswerOf(Of({{1, ExponentialMechanism{1}}}), delta).value;
    EXPECT_LE(one.lower(), truth);
    EXPECT_GE(one.lower(), .95 * truth) << delta;
    EXPECT_NEAR(one.upper(), truth, 1e-3 * truth);
  }
  // A Laplace distribution's: 1 - e^{(ε - 1)/2} = δ.
  for (const double delta : {1e-6, 1e-2, 0.1}) {
    const double truth = 1 + 2 * std::log1p(-delta);
    const Interval one = AnswerOf(Of({{1, PermuteAndFlip{1}}}), delta).value;
    EXPECT_LE(one.lower(), truth * (1 + 1e-12));
    EXPECT_GE(one.lower(), .95 * truth) << delta;
  }
  using Noise = ReportNoisyMax::Noise;
  const auto noisy = [](Noise noise, uint64_t count, double delta) {
    return AnswerOf(Of({{count, ReportNoisyMax{2, noise, true}}}), delta).value;
  };
  const Interval laplace = noisy(Noise::kLaplace, 1, 1e-6);
  EXPECT_GE(laplace.lower(), .99 * laplace.upper());
  EXPECT_LE(laplace.upper(), .5);
  for (const uint64_t count : {3, 30}) {
    const double as_gumbel = noisy(Noise::kGumbel, count, 1e-6).lower();
    EXPECT_NEAR(noisy(Noise::kLaplace, count, 1e-6).lower(), as_gumbel, 1e-3 * as_gumbel);
  }
  EXPECT_GE(noisy(Noise::kGumbel, 30, 1e-6).lower(), .98 * noisy(Noise::kGumbel, 30, 1e-6).upper());
}

TEST(Below, AGuaranteeThatAllowsNoGaussianShowsNothing) {
  const Answer stated = AnswerOf(Of({{1, RenyiCurve{{2, 10}, {0, 2}}}}), 1e-6);
  EXPECT_EQ(stated.value.lower(), 0);
  EXPECT_THAT(stated.warnings, Contains(HasSubstr("Rényi curve alone")));
}

TEST(Below, GuaranteesComposeWithTheOtherSteps) {
  const Mechanism sampled{200, PoissonSampled{.1, {{1, Gaussian{1.5}}}}};
  const Answer stated = AnswerOf(Of({sampled, {2, ZCDp{.08, 0}}}), 1e-6);
  const Interval truth = AnswerOf(Of({sampled, {2, Gaussian{2.5}}}), 1e-6).value;
  EXPECT_NEAR(stated.value.lower(), truth.lower(), 1e-4 * truth.lower());
  EXPECT_LE(stated.value.lower(), truth.upper());
  // Many together are as many runs on the loss grid, not one whose loss is beyond it.
  const Interval many =
      AnswerOf(Of({{350000, ZCDp{.68, 0}}, {1, EpsilonDelta{4e-4, 7e-12}}}), 2e-9).value;
  EXPECT_LT(many.RelativeGap(), .01);
}

Composition Searches(const Composition& run, double mean, uint64_t count) {
  Composition composition;
  composition.curves.push_back(
      {BestOf{std::make_shared<const Composition>(run), kInfinity, mean}, count});
  return composition;
}

// δ of searches among responses that are all as good as each other: each has the first one's answer
// if it makes a run.
double DeltaOfSearches(double loss, double mean, int count, double epsilon) {
  const double some = -std::expm1(-mean), likely = 1 / (1 + std::exp(-loss));
  const auto binomial = [](int n, double p, int k) {
    return std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) +
                    k * std::log(p) + (n - k) * std::log1p(-p));
  };
  double delta = 0;
  for (int n = 0; n <= count; ++n) {
    for (int k = 0; k <= n; ++k) {
      const double total = (2 * k - n) * loss;
      if (total > epsilon)
        delta += binomial(count, some, n) * binomial(n, likely, k) * -std::expm1(epsilon - total);
    }
  }
  return delta;
}

TEST(Below, APoissonNumberOfRunsIsSometimesNone) {
  constexpr double kLoss = .7;
  const Composition run = Of({{1, EpsilonDelta{kLoss, 0}}});
  // All of them make a run, with a probability that matters; or as many as are sure.
  for (const auto& [mean, count] : {std::pair(.5, 1), {3.0, 4}, {.3, 60}, {.05, 400}}) {
    const double delta = .02 * -std::expm1(-mean);
    const auto answer = AnswerOf(Searches(run, mean, static_cast<uint64_t>(count)), delta).value;
    EXPECT_GT(answer.lower(), 0) << mean;
    EXPECT_GE(DeltaOfSearches(kLoss, mean, count, answer.lower()), delta * (1 - 1e-9)) << mean;
  }
  // Control: as if each of them made a run.
  const double surely = AnswerOf(run, .2).value.lower();
  EXPECT_LT(DeltaOfSearches(kLoss, .5, 1, surely), .2);
  EXPECT_LT(AnswerOf(Searches(run, .5, 1), .2).value.lower(), surely);
  // As many as are sure are 4 of 60, with probability .9.
  const auto of_many = ComputeDelta(Searches(run, .3, 60), 1, {});
  ASSERT_TRUE(of_many.ok()) << of_many.status();
  const double of_four = DeltaOfSearches(kLoss, 30, 4, 1);
  EXPECT_LE(of_many->value.lower(), .9 * of_four);
  EXPECT_GE(of_many->value.lower(), .899 * of_four);
  // δ too.
  const auto delta = ComputeDelta(Searches(run, .5, 1), .3, {});
  ASSERT_TRUE(delta.ok()) << delta.status();
  const double truth = DeltaOfSearches(kLoss, .5, 1, .3);
  EXPECT_LE(delta->value.lower(), truth);
  EXPECT_GE(delta->value.lower(), truth * (1 - 1e-6));
}

TEST(Below, TooFewSearchesShowNothing) {
  const Answer answer = AnswerOf(Searches(Of({{1, EpsilonDelta{.7, 0}}}), .01, 300), 1e-6);
  EXPECT_EQ(answer.value.lower(), 0);
  EXPECT_THAT(answer.warnings, Contains(HasSubstr("Rényi curve alone")));
}

// A search that makes a run less often than δ takes nothing from what is beside it.
TEST(Below, WhereAllTogetherShowNothingAPartDoes) {
  Composition beside = Searches(Of({{1, EpsilonDelta{.7, 0}}}), .15, 1);
  beside.steps.push_back({1, {2, 2}, 3});
  const double alone = AnswerOf(Of({{3, Gaussian{2}}}), .2).value.lower();
  EXPECT_GT(alone, .3);
  const Answer answer = AnswerOf(beside, .2);
  EXPECT_NEAR(answer.value.lower(), alone, 1e-9);
  EXPECT_GT(answer.value.upper(), alone);
  // Every kind of step is a part.
  History history;
  history.Add("w", Mechanism{3, Gaussian{2}});
  history.Add("w", Mechanism{1, Laplace{1}});
  history.Add("w", RoundsEvent{{{0, RandomAllocation{10, 1}}, {{"", 1.0, 1}}}, 10});
  const Composition kinds = *Resolve(history, Adjacency::kAddOrRemoveOne);
  ASSERT_EQ(kinds.allocations.size(), 1);
  EXPECT_EQ(PartsBelow(kinds, Below(kinds, 2), 2).size(), 4);
}

}  // namespace
}  // namespace dpledger::accountant
