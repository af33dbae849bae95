#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "accountant/selection/tuning_cost.h"
#include "tests/support/json_file.h"

namespace dpledger::accountant {
namespace {

using ::dpledger::testing::ListAt;
using ::dpledger::testing::NumberAt;
using ::dpledger::testing::ReadJsonFile;
using ::testing::HasSubstr;

Composition OneRun(uint64_t steps) {
  Composition composition;
  composition.steps.push_back({0.005, {1, 1}, steps});
  return composition;
}

TEST(NegativeBinomial, GammaMatchesTheOracleForEveryEtaAboveMinusOne) {
  const auto oracle = ReadJsonFile("tests/data/accounting_oracle.json");
  ASSERT_GT(ListAt(oracle, "negative_binomial_gamma").size(), 20);
  for (const auto& value : ListAt(oracle, "negative_binomial_gamma")) {
    const auto& c = value.struct_value();
    const double gamma = std::exp(-LogInverseGamma(NumberAt(c, "eta"), NumberAt(c, "mean")));
    EXPECT_NEAR(gamma / NumberAt(c, "gamma"), 1, 1e-11) << value.DebugString();
    EXPECT_LE(gamma, NumberAt(c, "gamma") * (1 + 1e-14)) << "must round to the costlier side";
  }
}

// The mean overflowed on the way, and the search stopped at 985: values by mpmath.
TEST(NegativeBinomial, GammaNearEtaMinusOneIsNotCutShort) {
  EXPECT_NEAR(LogInverseGamma(-0.999, 10), 2303.6, 0.1);
  EXPECT_NEAR(LogInverseGamma(-0.99, 1e8), 1843, 0.5);
  EXPECT_NEAR(LogInverseGamma(-0.98, 1e15), 1728, 0.5);
}

// "How to DP-fy ML" (arXiv 2303.00654), appendix C: n = 1e6, batch 5000, σ = 1; recomputed at 30
// digits.
TEST(Tuning, WorkedExampleMatchesTheOracle) {
  const auto oracle = ReadJsonFile("tests/data/accounting_oracle.json");
  int checked = 0;
  for (const auto& value : ListAt(oracle, "tuning_rdp")) {
    const auto& c = value.struct_value();
    if (c.fields().count("eta") == 0) continue;
    const auto cost = ComputeTuningCost(
        OneRun(static_cast<uint64_t>(NumberAt(c, "steps"))), NumberAt(c, "delta"),
        NegativeBinomialTrials{NumberAt(c, "eta"), NumberAt(c, "mean")}, {.method = Method::kRdp});
    ASSERT_TRUE(cost.ok()) << cost.status();
    // The oracle converts by the pointwise bound; two-outcome pairs take a little off.
    EXPECT_LE(cost->epsilon.value.upper(), NumberAt(c, "epsilon") * (1 + 1e-8))
        << value.DebugString();
    EXPECT_GE(cost->epsilon.value.upper(), NumberAt(c, "epsilon") * (1 - 3e-4))
        << value.DebugString();
    ++checked;
  }
  EXPECT_GE(checked, 8);
}

// The same example through the privacy profile. `before` is what bounding by one supremum of shifts
// gave (to four digits, uncertified), for the larger direction.
TEST(Tuning, WorkedExampleIsKnownToWithinAFewPercent) {
  struct Case {
    uint64_t steps;
    Trials trials;
    double before, gap;
  };
  for (const Case& c : {Case{200, NegativeBinomialTrials{0, 10}, 0.8963, 0.03},
                        Case{200, NegativeBinomialTrials{1, 10}, 0.9357, 0.04},
                        Case{200, PoissonTrials{10}, 1.1432, 0.07},
                        Case{200, NegativeBinomialTrials{0, 100}, 1.1971, 0.03},
                        Case{200, NegativeBinomialTrials{1, 100}, 1.296, 0.04},
                        Case{20000, NegativeBinomialTrials{0, 10}, 6.2952, 0.005},
                        Case{20000, NegativeBinomialTrials{1, 10}, 6.6705, 0.005},
                        Case{20000, PoissonTrials{10}, 8.6176, 0.01},
                        Case{20000, NegativeBinomialTrials{0, 100}, 7.5218, 0.005},
                        Case{20000, NegativeBinomialTrials{1, 100}, 8.5225, 0.005}}) {
    const auto cost = ComputeTuningCost(OneRun(c.steps), 1e-6, c.trials, {});
    ASSERT_TRUE(cost.ok()) << cost.status();
    EXPECT_EQ(cost->analysis, "profile");
    EXPECT_LT(cost->epsilon.value.upper(), c.before);
    EXPECT_LE(cost->epsilon.value.RelativeGap(), c.gap) << c.before;
    EXPECT_GE(cost->epsilon.value.lower(), cost->single_run.value.lower());
    ASSERT_EQ(cost->analyses.size(), 2);
    EXPECT_EQ(cost->analyses[0].name, "rdp");
    EXPECT_GT(cost->analyses[0].epsilon.upper(), 1.1 * cost->epsilon.value.upper());
  }
}

TEST(Tuning, EveryKindOfTrialsIsAnswered) {
  for (const double eta : {-0.99, -0.9, -0.3, 0.0, 7.0, 300.0}) {
    const auto cost = ComputeTuningCost(OneRun(20000), 1e-6, NegativeBinomialTrials{eta, 30}, {});
    ASSERT_TRUE(cost.ok()) << cost.status();
    EXPECT_GT(cost->epsilon.value.upper(), cost->single_run.value.upper()) << eta;
    EXPECT_LT(cost->epsilon.value.upper(), 20) << eta;
  }
  const auto binomial = ComputeTuningCost(OneRun(20000), 1e-6, BinomialTrials{30, 0.5}, {});
  const auto poisson = ComputeTuningCost(OneRun(20000), 1e-6, PoissonTrials{15}, {});
  const auto fixed = ComputeTuningCost(OneRun(20000), 1e-6, FixedTrials{15}, {});
  ASSERT_TRUE(binomial.ok() && poisson.ok() && fixed.ok());
  // The narrower the distribution, the more of each run shows.
  EXPECT_LT(poisson->epsilon.value.upper(), binomial->epsilon.value.upper());
  EXPECT_LT(binomial->epsilon.value.upper(), fixed->epsilon.value.lower());
}

TEST(Tuning, UnsampledRunsAreAnsweredFromTheClosedForm) {
  Composition composition;
  composition.steps.push_back({1, {2, 2}, 4});
  const auto cost = ComputeTuningCost(composition, 1e-5, NegativeBinomialTrials{0, 20}, {});
  ASSERT_TRUE(cost.ok()) << cost.status();
  EXPECT_EQ(cost->epsilon.method, Method::kGaussian);
  EXPECT_EQ(cost->analysis, "profile");
  EXPECT_LE(cost->epsilon.value.RelativeGap(), 0.02);
}

TEST(Tuning, LeastCostIsNoMoreThanAnyAllowedDistribution) {
  const LeastCostTrials wanted{20, 0.3};
  const auto least = ComputeTuningCost(OneRun(20000), 1e-6, wanted, {});
  ASSERT_TRUE(least.ok()) << least.status();
  EXPECT_FALSE(std::holds_alternative<LeastCostTrials>(least->trials));
  EXPECT_LE(least->at_most_one_probability, 0.3);
  int allowed = 0;
  for (const Trials& other :
       {Trials(NegativeBinomialTrials{-0.5, 20}), Trials(NegativeBinomialTrials{0, 20}),
        Trials(NegativeBinomialTrials{0.5, 20}), Trials(NegativeBinomialTrials{1, 20}),
        Trials(PoissonTrials{20}), Trials(BinomialTrials{40, 0.5})}) {
    const auto cost = ComputeTuningCost(OneRun(20000), 1e-6, other, {});
    ASSERT_TRUE(cost.ok()) << cost.status();
    if (cost->at_most_one_probability > 0.3) continue;
    ++allowed;
    EXPECT_LE(least->epsilon.value.upper(), cost->epsilon.value.upper() * (1 + 1e-3));
  }
  EXPECT_GE(allowed, 4);
  // By rdp alone too.
  const auto rdp = ComputeTuningCost(OneRun(200), 1e-6, wanted, {.method = Method::kRdp});
  ASSERT_TRUE(rdp.ok()) << rdp.status();
  EXPECT_EQ(rdp->analysis, "rdp");
}

// Liu and Talwar 2019: with a geometric number of runs an ε-DP run costs at most 3ε, at any δ.
TEST(Tuning, MechanismsKnownByPairsAreAnsweredToo) {
  const Pair response{{{0.75, 0.25}, {0.25, 0.75}}, {}, 0, true};
  Composition composition;
  composition.pairs.push_back({response, response, std::nullopt, 1});
  const double epsilon = std::log(3.0);
  const auto cost = ComputeTuningCost(composition, 1e-6, NegativeBinomialTrials{1, 10}, {});
  ASSERT_TRUE(cost.ok()) << cost.status();
  ASSERT_EQ(cost->analyses.size(), 2);
  EXPECT_EQ(cost->analyses[1].name, "profile");
  EXPECT_LE(cost->epsilon.value.upper(), 3 * epsilon * (1 + 1e-3));
  EXPECT_GE(cost->epsilon.value.upper(), epsilon);
}

TEST(Tuning, RunsThatReleaseNothingCostNothing) {
  const auto cost = ComputeTuningCost({}, 1e-6, NegativeBinomialTrials{1, 10}, {});
  ASSERT_TRUE(cost.ok()) << cost.status();
  EXPECT_EQ(cost->epsilon.value.upper(), 0);
}

TEST(Tuning, LeastCostSaysWhenNothingIsAllowed) {
  const auto none = ComputeTuningCost(OneRun(200), 1e-6, LeastCostTrials{1.5, 0.1}, {});
  EXPECT_EQ(none.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(std::string(none.status().message()),
            "trials.least_cost: no distribution with mean 1.5 makes at most one run with "
            "probability <= 0.1");
}

TEST(Tuning, AtMostOneRunIsWhatTheMassesSay) {
  const auto of = [](const Trials& trials) { return AtMostOneProbability(trials); };
  EXPECT_NEAR(of(NegativeBinomialTrials{1, 10}), 0.1, 1e-12);  // geometric
  EXPECT_NEAR(of(PoissonTrials{2}), 3 * std::exp(-2.0), 1e-12);
  EXPECT_NEAR(of(BinomialTrials{3, 0.5}), 0.5, 1e-12);
  EXPECT_EQ(of(FixedTrials{1}), 1);
  EXPECT_EQ(of(FixedTrials{2}), 0);
  // η = 0: (1 - γ)/log(1/γ), γ of the oracle.
  EXPECT_NEAR(of(NegativeBinomialTrials{0, 100}), (1 - 0.001542115) / -std::log(0.001542115), 1e-6);
}

TEST(Tuning, CostsMoreThanOneRunAndGrowsWithTrials) {
  double before = ComputeEpsilon(OneRun(200), 1e-6, {.method = Method::kRdp})->value.upper();
  for (const double mean : {2.0, 10.0, 100.0}) {
    const auto cost = ComputeTuningCost(OneRun(200), 1e-6, NegativeBinomialTrials{0, mean},
                                        {.method = Method::kRdp});
    EXPECT_GT(cost->epsilon.value.upper(), before);
    before = cost->epsilon.value.upper();
  }
}

TEST(Tuning, FixedNumberCostsNoMoreThanPlainComposition) {
  const auto fixed = ComputeTuningCost(OneRun(200), 1e-6, FixedTrials{10}, {});
  const auto composed = ComputeEpsilon(OneRun(2000), 1e-6, {});
  ASSERT_TRUE(fixed.ok()) << fixed.status();
  ASSERT_EQ(fixed->analyses.size(), 2);
  EXPECT_EQ(fixed->analyses[0].name, "composition");
  EXPECT_EQ(fixed->analyses[0].epsilon.upper(), composed->value.upper());
  EXPECT_EQ(fixed->analysis, "profile");
  EXPECT_LT(fixed->epsilon.value.upper(), 0.9 * composed->value.upper());
  const auto one = ComputeTuningCost(OneRun(200), 1e-6, FixedTrials{1}, {});
  const auto single = ComputeEpsilon(OneRun(200), 1e-6, {});
  EXPECT_NEAR(one->epsilon.value.upper() / single->value.upper(), 1, 1e-5);
  EXPECT_GE(one->epsilon.value.upper(), single->value.lower());
}

// By one method alone, a fixed number is what that method says of the composition.
TEST(Tuning, FixedNumberByOneMethodIsPlainComposition) {
  for (const Method method : {Method::kRdp, Method::kPld, Method::kContour}) {
    const auto fixed = ComputeTuningCost(OneRun(200), 1e-6, FixedTrials{10}, {.method = method});
    const auto composed = ComputeEpsilon(OneRun(2000), 1e-6, {.method = method});
    ASSERT_TRUE(fixed.ok()) << fixed.status();
    EXPECT_EQ(fixed->epsilon.value.upper(), composed->value.upper());
    EXPECT_EQ(fixed->analysis, "composition");
  }
}

TEST(Tuning, PoissonIsCheapForFewStepsAndDearForMany) {
  // The published library's table for q = .01, σ = 1, T = 1000: 2.582 at mean 2, 4.330 at 10, from
  // a coarse order grid.
  Composition composition;
  composition.steps.push_back({0.01, {1, 1}, 1000});
  const double two =
      ComputeTuningCost(composition, 1e-5, PoissonTrials{2}, {.method = Method::kRdp})
          ->epsilon.value.upper();
  const double ten =
      ComputeTuningCost(composition, 1e-5, PoissonTrials{10}, {.method = Method::kRdp})
          ->epsilon.value.upper();
  EXPECT_LE(two, 2.583);
  EXPECT_GT(two, 2.5);
  EXPECT_LE(ten, 4.331);
  EXPECT_GT(ten, 3.9);
}

TEST(Tuning, BadParametersNameTheField) {
  const auto message = [](const Trials& trials) {
    const absl::Status status = ComputeTuningCost(OneRun(1), 1e-6, trials, {}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(message(NegativeBinomialTrials{-1, 10}),
            "trials.negative_binomial.eta: must be finite and > -1, got -1");
  EXPECT_EQ(message(NegativeBinomialTrials{inf, 10}),
            "trials.negative_binomial.eta: must be finite and > -1, got inf");
  EXPECT_EQ(message(NegativeBinomialTrials{2e6, 10}),
            "trials.negative_binomial.eta: must be at most 1e6 (its limit is the Poisson "
            "distribution), got 2e+06");
  EXPECT_EQ(message(NegativeBinomialTrials{0, 1}),
            "trials.negative_binomial.mean: must be in (1, 1e15], got 1");
  EXPECT_EQ(message(PoissonTrials{nan}), "trials.poisson.mean: must be in (0, 1e15], got nan");
  EXPECT_EQ(message(PoissonTrials{2e15}), "trials.poisson.mean: must be in (0, 1e15], got 2e+15");
  EXPECT_EQ(message(FixedTrials{0}), "trials.fixed.count: must be in [1, 2^53], got 0");
  EXPECT_EQ(message(BinomialTrials{0, 0.5}), "trials.binomial.trials: must be in [1, 2^53], got 0");
  EXPECT_EQ(message(BinomialTrials{2, 0}), "trials.binomial.probability: must be in (0, 1], got 0");
  EXPECT_EQ(message(BinomialTrials{2, nan}),
            "trials.binomial.probability: must be in (0, 1], got nan");
  EXPECT_EQ(message(LeastCostTrials{1}), "trials.least_cost.mean: must be in (1, 1e15], got 1");
  EXPECT_EQ(message(LeastCostTrials{2, 1.5}),
            "trials.least_cost.at_most_one_probability: must be in (0, 1], got 1.5");
}

TEST(Tuning, ARandomNumberOfRunsIsRefusedByWhatCannotAnswerIt) {
  const auto cost = ComputeTuningCost(OneRun(1), 1e-6, PoissonTrials{2}, {.method = Method::kPld});
  EXPECT_EQ(cost.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(std::string(cost.status().message()),
            "method pld: private selection is analysed by best and rdp only");
}

}  // namespace
}  // namespace dpledger::accountant
