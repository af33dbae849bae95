#include "accountant/gaussian/gaussian.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/json_file.h"

namespace dpledger::accountant {
namespace {

using ::dpledger::testing::ListAt;
using ::dpledger::testing::NumberAt;
using ::dpledger::testing::ReadJsonFile;

Composition Unsampled(double z, uint64_t count) {
  Composition composition;
  composition.steps.push_back({1, {z, z}, count});
  return composition;
}

TEST(Gaussian, LogDeltaContainsTheOracleFromNearOneToFarBelowDoubles) {
  const auto oracle = ReadJsonFile("tests/data/accounting_oracle.json");
  ASSERT_GT(ListAt(oracle, "gaussian_delta").size(), 50);
  for (const auto& value : ListAt(oracle, "gaussian_delta")) {
    const auto& c = value.struct_value();
    const double mu = NumberAt(c, "mu"), log_delta = NumberAt(c, "log_delta");
    const Interval found = gaussian::LogDelta(mu, NumberAt(c, "epsilon"));
    // The oracle's own last digit.
    const double slack = 3e-16 * std::fabs(log_delta);
    EXPECT_LE(found.lower, log_delta + slack) << mu << " " << NumberAt(c, "epsilon");
    EXPECT_GE(found.upper, log_delta - slack) << mu << " " << NumberAt(c, "epsilon");
    if (mu >= 0.5 && mu <= 10) {
      EXPECT_LE(found.upper - found.lower, 1e-11 * (1 + std::fabs(log_delta))) << mu;
    }
  }
}

TEST(Gaussian, EpsilonOfAThousandStepsIsThatOfOneWithMuRootThousandOverTen) {
  const Interval epsilon = gaussian::Epsilon(Unsampled(10, 1000), 1e-10);
  EXPECT_TRUE(epsilon.Contains(
      24.56965903983050));  // contour integral and closed form, quadruple precision
  EXPECT_LT(epsilon.RelativeGap(), 1e-12);
}

TEST(Gaussian, EpsilonAndDeltaAreInverse) {
  for (const double z : {0.3, 1.0, 7.0, 400.0}) {
    for (const double delta : {1e-2, 1e-5, 1e-20, 1e-200}) {
      const Composition composition = Unsampled(z, 3);
      const Interval epsilon = gaussian::Epsilon(composition, delta);
      EXPECT_LE(gaussian::Delta(composition, epsilon.upper).upper, delta);
      if (epsilon.lower > 0) {
        EXPECT_GE(gaussian::Delta(composition, epsilon.lower).lower, delta);
      }
    }
  }
}

TEST(Gaussian, AlreadyPrivateEnoughAtZero) {
  // δ(0) = 2Φ(μ/2) - 1 is 4e-4 here.
  const Interval epsilon = gaussian::Epsilon(Unsampled(1000, 1), 1e-3);
  EXPECT_EQ(epsilon.lower, 0);
  EXPECT_EQ(epsilon.upper, 0);
}

TEST(Gaussian, DoesNotApplyToSampledSteps) {
  Composition composition = Unsampled(1, 1);
  EXPECT_TRUE(gaussian::Applies(composition));
  composition.steps[0].sampling_probability = 0.5;
  EXPECT_FALSE(gaussian::Applies(composition));
}

}  // namespace
}  // namespace dpledger::accountant
