#include "accountant/selection/selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

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
    const double gamma =
        std::exp(-selection::LogInverseGamma(NumberAt(c, "eta"), NumberAt(c, "mean")));
    EXPECT_NEAR(gamma / NumberAt(c, "gamma"), 1, 1e-11) << value.DebugString();
    EXPECT_LE(gamma, NumberAt(c, "gamma") * (1 + 1e-14)) << "must round to the costlier side";
  }
}

// The mean overflowed on the way, and the search stopped at 985: values by mpmath.
TEST(NegativeBinomial, GammaNearEtaMinusOneIsNotCutShort) {
  EXPECT_NEAR(selection::LogInverseGamma(-0.999, 10), 2303.6, 0.1);
  EXPECT_NEAR(selection::LogInverseGamma(-0.99, 1e8), 1843, 0.5);
  EXPECT_NEAR(selection::LogInverseGamma(-0.98, 1e15), 1728, 0.5);
}

// "How to DP-fy ML" (arXiv 2303.00654), appendix C: n = 1e6, batch 5000, σ = 1; recomputed at 30
// digits.
TEST(Tuning, WorkedExampleMatchesTheOracle) {
  const auto oracle = ReadJsonFile("tests/data/accounting_oracle.json");
  int checked = 0;
  for (const auto& value : ListAt(oracle, "tuning_rdp")) {
    const auto& c = value.struct_value();
    if (c.fields().count("eta") == 0) continue;
    const auto cost =
        ComputeTuningCost(OneRun(static_cast<uint64_t>(NumberAt(c, "steps"))), NumberAt(c, "delta"),
                          NegativeBinomialTrials{NumberAt(c, "eta"), NumberAt(c, "mean")}, {});
    ASSERT_TRUE(cost.ok()) << cost.status();
    // The oracle converts by the pointwise bound; two-outcome pairs take a little off.
    EXPECT_LE(cost->epsilon.value.upper, NumberAt(c, "epsilon") * (1 + 1e-8))
        << value.DebugString();
    EXPECT_GE(cost->epsilon.value.upper, NumberAt(c, "epsilon") * (1 - 3e-4))
        << value.DebugString();
    ++checked;
  }
  EXPECT_GE(checked, 8);
}

TEST(Tuning, CostsMoreThanOneRunAndGrowsWithTrials) {
  double before = ComputeEpsilon(OneRun(200), 1e-6, {.method = Method::kRdp})->value.upper;
  for (const double mean : {2.0, 10.0, 100.0}) {
    const auto cost = ComputeTuningCost(OneRun(200), 1e-6, NegativeBinomialTrials{0, mean}, {});
    EXPECT_GT(cost->epsilon.value.upper, before);
    before = cost->epsilon.value.upper;
  }
}

// A random number of runs is far cheaper than releasing all of them.
TEST(Tuning, FixedNumberIsPlainComposition) {
  const auto fixed = ComputeTuningCost(OneRun(200), 1e-6, FixedTrials{10}, {});
  const auto composed = ComputeEpsilon(OneRun(2000), 1e-6, {});
  EXPECT_EQ(fixed->epsilon.value.upper, composed->value.upper);
  EXPECT_EQ(fixed->epsilon.method, composed->method);
}

TEST(Tuning, PoissonIsCheapForFewStepsAndDearForMany) {
  // The published library's table for q = .01, σ = 1, T = 1000: 2.582 at mean 2, 4.330 at 10, from
  // a coarse order grid.
  Composition composition;
  composition.steps.push_back({0.01, {1, 1}, 1000});
  const double two =
      ComputeTuningCost(composition, 1e-5, PoissonTrials{2}, {})->epsilon.value.upper;
  const double ten =
      ComputeTuningCost(composition, 1e-5, PoissonTrials{10}, {})->epsilon.value.upper;
  EXPECT_LE(two, 2.583);
  EXPECT_GT(two, 2.5);
  EXPECT_LE(ten, 4.331);
  EXPECT_GT(ten, 3.9);
}

TEST(Tuning, BadParametersNameTheField) {
  const auto eta = ComputeTuningCost(OneRun(1), 1e-6, NegativeBinomialTrials{-1, 10}, {});
  EXPECT_EQ(eta.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(eta.status().message()),
              HasSubstr("trials.negative_binomial.eta: must be finite and > -1, got -1"));
  const auto mean = ComputeTuningCost(OneRun(1), 1e-6, NegativeBinomialTrials{0, 1}, {});
  EXPECT_THAT(std::string(mean.status().message()),
              HasSubstr("trials.negative_binomial.mean: must be in (1, 1e15], got 1"));
  const auto poisson = ComputeTuningCost(OneRun(1), 1e-6, PoissonTrials{std::nan("")}, {});
  EXPECT_THAT(std::string(poisson.status().message()),
              HasSubstr("trials.poisson.mean: must be in (0, 1e15], got nan"));
  const auto method =
      ComputeTuningCost(OneRun(1), 1e-6, PoissonTrials{2}, {.method = Method::kPld});
  EXPECT_EQ(method.status().code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace dpledger::accountant
