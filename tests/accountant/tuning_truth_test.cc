// The cost of a search against the best of few results, enumerated.
#include <gtest/gtest.h>

#include <cmath>

#include "accountant/accountant.h"
#include "accountant/selection/tuning_cost.h"
#include "tests/accountant/small_laws.h"

namespace dpledger::accountant {
namespace {

using small::Law;

Composition Of(auto kind) {
  History history;
  history.Add("w", Mechanism{1, std::move(kind)});
  return *Resolve(history, Adjacency::kAddOrRemoveOne);
}

// A run that shows all with probability kFailure, and is ε-DP otherwise. In order of merit, what
// shows all being the best.
constexpr double kFailure = 1e-3, kEpsilon = 0.5;
const double kMore = (1 - kFailure) / (1 + std::exp(-kEpsilon));
const Law kWith = {0, 1 - kFailure - kMore, kMore, kFailure};
const Law kWithout = {kFailure, kMore, 1 - kFailure - kMore, 0};

struct Search {
  Trials trials;
  std::function<double(double)> generating_function;  // of the number of runs
};
const Search kGeometric = {NegativeBinomialTrials{1, 10},
                           [](double x) { return x / (10 - 9 * x); }};
const Search kPoisson = {PoissonTrials{10}, [](double x) { return std::exp(10 * (x - 1)); }};

// δ(ε) of the best result.
double TruthOf(const Search& search, double epsilon) {
  return small::EitherDelta(small::BestOf(kWith, search.generating_function),
                            small::BestOf(kWithout, search.generating_function), epsilon);
}

// One of ten runs fails ten times as often as one does.
void ExpectCovers(const Search& search, double epsilon, double delta) {
  if (std::isfinite(epsilon)) {
    EXPECT_LE(TruthOf(search, epsilon), delta) << epsilon;
  } else {
    EXPECT_GT(TruthOf(search, 60), 0.9 * delta);
  }
}

TEST(TuningTruth, ARunThatMayFailMayDoSoInEveryRun) {
  const Composition run = Of(EpsilonDelta{kEpsilon, kFailure});
  for (const Search& search : {kGeometric, kPoisson}) {
    for (const double delta : {5e-3, 9e-3, 2e-2, 1e-1}) {
      for (const Method method : {Method::kRdp, Method::kBest}) {
        const auto cost = ComputeTuningCost(run, delta, search.trials, {.method = method});
        ASSERT_TRUE(cost.ok()) << cost.status();
        for (const TuningAnalysis& analysis : cost->analyses)
          ExpectCovers(search, analysis.epsilon.upper(), delta);
      }
    }
  }
}

TEST(TuningTruth, ASearchInAnEventMayFailInEveryRunToo) {
  const Mechanism run{1, EpsilonDelta{kEpsilon, kFailure}};
  const Composition geometric = Of(RepeatAndSelect{{run}, 10, 1});
  const Composition poisson = Of(RepeatAndSelect{{run}, 10, INFINITY});
  for (const double delta : {5e-3, 9e-3, 2e-2, 1e-1}) {
    ExpectCovers(kGeometric, ComputeEpsilon(geometric, delta, {})->value.upper(), delta);
    ExpectCovers(kPoisson, ComputeEpsilon(poisson, delta, {})->value.upper(), delta);
  }
}

// With no run nothing is shown: δ is at most the probability of any run.
TEST(TuningTruth, ASearchThatMayMakeNoRunRevealsLessThanOneRun) {
  const Composition run = Of(DiscreteLaplace{1, 1});
  const double delta = 0.1;
  ASSERT_GT(ComputeEpsilon(run, delta, {})->value.lower(), 0.5);
  for (const Trials& trials : {Trials(PoissonTrials{0.05}), Trials(BinomialTrials{2, 0.02})}) {
    const auto cost = ComputeTuningCost(run, delta, trials, {});
    ASSERT_TRUE(cost.ok()) << cost.status();
    EXPECT_EQ(cost->epsilon.value.lower(), 0);
    for (const TuningAnalysis& analysis : cost->analyses) EXPECT_EQ(analysis.epsilon.lower(), 0);
  }
  // One that always makes a run reveals no less than that.
  const auto always = ComputeTuningCost(run, delta, FixedTrials{2}, {});
  EXPECT_GE(always->epsilon.value.lower(), 0.5);
}

// Of a coin's results, each of which may be split in two, a score may put any part of the tails
// first, then any part of the heads.
double WorstOfACoin(const Search& search, double heads, double epsilon) {
  constexpr int kParts = 60;
  double worst = 0;
  for (int i = 0; i <= kParts; ++i) {
    for (int k = 0; k <= kParts; ++k) {
      const double tails = static_cast<double>(i) / kParts, part = static_cast<double>(k) / kParts;
      const auto ranked = [&](double p) {
        return small::BestOf({(1 - tails) * (1 - p), (1 - part) * p, part * p, tails * (1 - p)},
                             search.generating_function);
      };
      worst = std::fmax(worst, small::EitherDelta(ranked(heads), ranked(1 - heads), epsilon));
    }
  }
  return worst;
}

TEST(TuningTruth, AScoreReachesNearlyWhatTheBestOfACoinsResultsMayCost) {
  const Composition run = Of(EpsilonDelta{1, 0});
  const double heads = 1 / (1 + std::exp(-1));
  for (const Search& search : {kGeometric, kPoisson}) {
    for (const double delta : {1e-5, 1e-3}) {
      const Interval cost = ComputeTuningCost(run, delta, search.trials, {})->epsilon.value;
      EXPECT_GT(cost.lower(), .94 * cost.upper()) << delta;
      // A score with finer parts would reach a little more.
      EXPECT_GT(WorstOfACoin(search, heads, cost.lower() * .999), delta);
      EXPECT_LE(WorstOfACoin(search, heads, cost.upper()), delta);
      // The control: a lower bound that is a few parts in a hundred too great is none.
      EXPECT_LT(WorstOfACoin(search, heads, cost.lower() * 1.04), delta);
    }
  }
}

}  // namespace
}  // namespace dpledger::accountant
