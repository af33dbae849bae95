// A search (repeat_and_select) beside other steps: against enumerations, and against what `tuning`
// answers for the search by itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>

#include "accountant/accountant.h"
#include "accountant/pair/pairs.h"
#include "accountant/selection/tuning_cost.h"

namespace dpledger::accountant {
namespace {

Composition Searched(Composition run, double eta, double mean) {
  Composition composition;
  composition.curves.push_back(
      {BestOf{std::make_shared<const Composition>(std::move(run)), eta, mean}, 1});
  return composition;
}

Composition Response(double epsilon, uint64_t count) {
  Composition composition;
  const Pair pair = EpsilonDeltaPair(epsilon, 0, Bound::kUpper);
  composition.pairs.push_back({pair, pair, std::nullopt, count});
  return composition;
}

Composition Trained() {
  Composition composition;
  composition.steps.push_back({0.01, {1, 1}, 500});
  return composition;
}

Interval Epsilon(const Composition& composition, double delta) {
  const auto answer = ComputeEpsilon(composition, delta, {});
  EXPECT_TRUE(answer.ok()) << answer.status();
  return answer.ok() ? answer->value : Interval();
}

// δ of two responses (±a, ±b), where the first is the better of the two answers of a geometric
// number of runs: one of both answers is better, with probability x in one run and y on the other
// data set.
double ChosenDelta(double a, double b, double mean, bool better_is_likelier, double epsilon) {
  const auto share = [](double e) { return 1 / (1 + std::exp(-e)); };
  const auto none_better = [&](double x) {  // E[(1-x)^K], γ = 1/mean
    return (1 - x) / mean / (1 - (1 - 1 / mean) * (1 - x));
  };
  const double x = better_is_likelier ? share(a) : share(-a), y = 1 - x;
  const double p[] = {1 - none_better(x), none_better(x)};
  const double q[] = {1 - none_better(y), none_better(y)};
  double remove = 0, add = 0;
  for (int i = 0; i < 2; ++i) {
    for (const double r : {share(b), share(-b)}) {
      remove += std::fmax(0, p[i] * r - std::exp(epsilon) * q[i] * (1 - r));
      add += std::fmax(0, q[i] * r - std::exp(epsilon) * p[i] * (1 - r));
    }
  }
  return std::fmax(remove, add);
}

double ChosenEpsilon(double a, double b, double mean, double delta) {
  double low = 0, high = 50;
  for (int i = 0; i < 70; ++i) {
    const double middle = (low + high) / 2;
    const bool more = ChosenDelta(a, b, mean, true, middle) > delta ||
                      ChosenDelta(a, b, mean, false, middle) > delta;
    (more ? low : high) = middle;
  }
  return low;
}

TEST(SearchBeside, HoldsForTheBetterOfTwoAnswers) {
  for (const double mean : {2.0, 10.0, 100.0}) {
    for (const double delta : {1e-6, 0.01, 0.2}) {
      Composition composition = Searched(Response(0.4, 1), 1, mean);
      composition.pairs = Response(0.7, 1).pairs;
      const Interval found = Epsilon(composition, delta);
      const double truth = ChosenEpsilon(0.4, 0.7, mean, delta);
      EXPECT_GE(found.upper(), truth) << mean << " " << delta;
      // Of very many runs the better of two answers is nearly always the same one.
      if (mean < 3) {
        EXPECT_LE(found.upper(), 1.7 * truth) << delta;
      }
    }
  }
  // Control: a run that reveals more than is told would be above.
  Composition composition = Searched(Response(0.4, 1), 1, 3);
  composition.pairs = Response(0.7, 1).pairs;
  const double found = Epsilon(composition, 0.01).upper();
  EXPECT_LT(found, ChosenEpsilon(0.7, 0.7, 3, 0.01));
}

TEST(SearchBeside, AloneCostsWhatTuningSays) {
  constexpr double kPoisson = std::numeric_limits<double>::infinity();
  for (const double eta : {-0.5, 0.0, 1.0, kPoisson}) {
    const Trials trials =
        std::isfinite(eta) ? Trials(NegativeBinomialTrials{eta, 8}) : Trials(PoissonTrials{8});
    for (const Composition& run : {Trained(), Response(0.3, 4)}) {
      const auto tuning = ComputeTuningCost(run, 1e-6, trials, {});
      ASSERT_TRUE(tuning.ok()) << tuning.status();
      const Interval search = Epsilon(Searched(run, eta, 8), 1e-6);
      EXPECT_GE(search.upper(), tuning->epsilon.value.lower()) << eta;
      // (The profile of responses is by a transform, at few nodes and each to a gap of 1e-3.)
      const double most = run.pairs.empty() ? 1.0005 : 1.005;
      EXPECT_LE(search.upper(), tuning->epsilon.value.upper() * most) << eta;
      // At least one run is made; if their number is Poisson, with probability 1 - e^-8.
      const double some = std::isfinite(eta) ? 1 : -std::expm1(-8.0);
      const double one = Epsilon(run, 1e-6 / some).lower();
      EXPECT_NEAR(search.lower(), one, 1e-3 * one) << eta;
    }
  }
}

// Runs that may fail: each of the 8 costs its 1e-8, at every ε.
TEST(SearchBeside, FailuresStayInfinite) {
  Composition run;
  const Pair pair = EpsilonDeltaPair(0.3, 1e-8, Bound::kUpper);
  run.pairs.push_back({pair, pair, std::nullopt, 1});
  Composition composition = Searched(run, 1, 8);
  composition.steps = Trained().steps;
  EXPECT_TRUE(std::isinf(Epsilon(composition, 7.9e-8).upper()));
  EXPECT_LT(Epsilon(composition, 1.2e-7).upper(), 10);
}

TEST(SearchBeside, EverySearchCounts) {
  Composition twice = Searched(Trained(), 1, 10), apart = twice;
  const double once = Epsilon(twice, 1e-6).upper();
  apart.curves.push_back(apart.curves[0]);
  twice.curves[0].count = 2;
  EXPECT_GT(Epsilon(twice, 1e-6).upper(), 1.3 * once);
  EXPECT_NEAR(Epsilon(twice, 1e-6).upper(), Epsilon(apart, 1e-6).upper(), 1e-6 * once);
}

TEST(SearchBeside, CostsLessThanByRenyi) {
  Composition composition = Searched(Trained(), 1, 10);
  composition.steps = Trained().steps;
  const auto renyi = ComputeEpsilon(composition, 1e-6, {.method = Method::kRdp});
  ASSERT_TRUE(renyi.ok());
  EXPECT_LT(Epsilon(composition, 1e-6).upper(), 0.85 * renyi->value.upper());
}

}  // namespace
}  // namespace dpledger::accountant
