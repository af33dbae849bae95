#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "accountant/accountant.h"
#include "base/status.h"

namespace dpledger::accountant {
namespace {

using ::testing::HasSubstr;

TEST(Calibration, NoiseMultiplierNearTheOptimumAndNeverBelowIt) {
  struct Case {
    double q, epsilon, delta;
    uint64_t steps;
    double optimum;  // contour integral, 12 digits
  };
  for (const Case& c :
       {Case{.005, 1, 1e-6, 20000, 3.0821238}, Case{.01, 2, 1e-5, 10000, 2.1273754348},
        Case{256.0 / 60000, 1, 1e-6, 14100, 2.26703879782},
        Case{.1, 8, 1e-5, 500, 1.54605947114}}) {
    const auto found =
        Calibrate({c.epsilon, c.delta}, {0, c.q, c.steps}, Unknown::kNoiseMultiplier, {});
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_GE(found->parameters.noise_multiplier, c.optimum * (1 - 1e-7));
    EXPECT_LE(found->parameters.noise_multiplier, c.optimum * (1 + 3e-4));
    EXPECT_LE(found->optimum.lower, c.optimum * (1 + 1e-7));
    EXPECT_GT(found->optimum.lower, c.optimum * (1 - 1e-3));
    EXPECT_LE(found->epsilon.value.upper, c.epsilon);
  }
}

TEST(Calibration, StepsAreTheMostThatFit) {
  const auto found = Calibrate({4, 1e-5}, {1, 0.01, 0}, Unknown::kSteps, {});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_LE(std::fabs(static_cast<double>(found->parameters.steps) - 4568),
            2);  // a published library: 4568
  EXPECT_LE(found->epsilon.value.upper, 4);
  EXPECT_GE(found->optimum.upper, found->optimum.lower);
  EXPECT_EQ(found->optimum.lower, static_cast<double>(found->parameters.steps));
}

TEST(Calibration, SamplingProbabilityMeetsTheTarget) {
  const auto found = Calibrate({2, 1e-5}, {1, 0, 1000}, Unknown::kSamplingProbability, {});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_LE(found->epsilon.value.upper, 2);
  EXPECT_GE(found->epsilon.value.lower, 1.99);
}

TEST(Calibration, EverySamplingProbabilityMayMeetTheTarget) {
  const auto found = Calibrate({50, 1e-5}, {2, 0, 3}, Unknown::kSamplingProbability, {});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->parameters.sampling_probability, 1);
}

TEST(Calibration, ByRenyiDpTakesMoreNoise) {
  const auto rdp =
      Calibrate({1, 1e-6}, {0, 0.005, 20000}, Unknown::kNoiseMultiplier, {.method = Method::kRdp});
  ASSERT_TRUE(rdp.ok()) << rdp.status();
  EXPECT_GT(rdp->parameters.noise_multiplier, 3.25);
  EXPECT_LE(rdp->parameters.noise_multiplier,
            3.2955 * (1 + 2e-4));  // a published library's, from a grid of orders
  EXPECT_LE(rdp->epsilon.value.upper, 1);
}

TEST(Calibration, UnsampledIsAnalytic) {
  const auto found = Calibrate({1, 1e-6}, {0, 1, 1}, Unknown::kNoiseMultiplier, {});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->epsilon.method, Method::kGaussian);
  EXPECT_NEAR(found->parameters.noise_multiplier, 4.2247, 2e-3);
}

// The Rényi conversion has a floor near 1e-5 that other methods do not have.
TEST(Calibration, TinyTargetsAreMetWhereRenyiDpHasNoAnswer) {
  const auto found = Calibrate({1e-7, 1e-9}, {0, 1, 1}, Unknown::kNoiseMultiplier, {});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_LE(found->epsilon.value.upper, 1e-7);
}

TEST(Calibration, NoNumberOfStepsMeetsTheTarget) {
  const auto found = Calibrate({0.1, 1e-6}, {0.5, 1, 0}, Unknown::kSteps, {});
  EXPECT_EQ(found.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ReasonOf(found.status()).reason, "NO_SOLUTION");
}

TEST(Calibration, BadTargetsNameTheField) {
  const auto message = [](const absl::StatusOr<Calibration>& r) {
    return std::string(r.status().message());
  };
  EXPECT_THAT(message(Calibrate({0, 1e-6}, {0, .1, 1}, Unknown::kNoiseMultiplier, {})),
              HasSubstr("epsilon: must be finite and > 0, got 0"));
  EXPECT_THAT(message(Calibrate({1, 1}, {0, .1, 1}, Unknown::kNoiseMultiplier, {})),
              HasSubstr("delta: must be in (0, 1), got 1"));
  EXPECT_THAT(message(Calibrate({1, .1}, {0, 1.5, 1}, Unknown::kNoiseMultiplier, {})),
              HasSubstr("sampling_probability: must be in (0, 1], got 1.5"));
  EXPECT_THAT(message(Calibrate({1, .1}, {0, .5, 0}, Unknown::kNoiseMultiplier, {})),
              HasSubstr("steps: must be in [1, 2^53], got 0"));
  EXPECT_THAT(message(Calibrate({1, .1}, {-1, .5, 0}, Unknown::kSteps, {})),
              HasSubstr("noise_multiplier: must be finite and > 0, got -1"));
}

}  // namespace
}  // namespace dpledger::accountant
