#include "accountant/gaussian/gaussian.h"

#include <gtest/gtest.h>

#include <cmath>

#include "accountant/accountant.h"
#include "accountant/gaussian/sampled_once.h"
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
    EXPECT_LE(found.lower(), log_delta + slack) << mu << " " << NumberAt(c, "epsilon");
    EXPECT_GE(found.upper(), log_delta - slack) << mu << " " << NumberAt(c, "epsilon");
    if (mu >= 0.5 && mu <= 10) {
      EXPECT_LE(found.upper() - found.lower(), 1e-11 * (1 + std::fabs(log_delta))) << mu;
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
      EXPECT_LE(gaussian::Delta(composition, epsilon.upper()).upper(), delta);
      if (epsilon.lower() > 0) {
        EXPECT_GE(gaussian::Delta(composition, epsilon.lower()).lower(), delta);
      }
    }
  }
}

TEST(Gaussian, AlreadyPrivateEnoughAtZero) {
  // δ(0) = 2Φ(μ/2) - 1 is 4e-4 here.
  const Interval epsilon = gaussian::Epsilon(Unsampled(1000, 1), 1e-3);
  EXPECT_EQ(epsilon.lower(), 0);
  EXPECT_EQ(epsilon.upper(), 0);
}

Composition Once(double q, double z) {
  Composition composition;
  composition.steps.push_back({q, {z, z}, 1});
  return composition;
}

// The hockey-stick divergence of the mixture by mpmath's quadrature over t, 19 digits.
TEST(SampledOnce, DeltaAndEpsilonContainTheOracle) {
  struct Case {
    double q, mu, epsilon;
    Direction direction;
    double delta;
  };
  for (const Case& c : {Case{0.01, 1, 0.5, Direction::kRemove, 2.214519013153061556e-7},
                        Case{0.01, 1, 0.005, Direction::kAdd, 0.0009631443353053048043},
                        Case{0.3, 2, 3, Direction::kRemove, 0.02195844674350235485},
                        Case{0.3, 2, 0.3, Direction::kAdd, 0.01833673433359747988},
                        Case{0.0001, 0.25, 0.01, Direction::kRemove, 2.000144420312938e-81},
                        Case{0.5, 4, 20, Direction::kRemove, 0.0001991941774950421595},
                        Case{0.9, 0.5, 1.5, Direction::kAdd, 5.702465395053071502e-6},
                        Case{0.05, 0.1, 0.04, Direction::kAdd, 3.508166023810273857e-57},
                        Case{0.001, 10, 60, Direction::kRemove, 0.00003732683696810942808},
                        Case{0.3, 2, 0.4, Direction::kAdd, 0}}) {
    const Composition composition = Once(c.q, 1 / c.mu);
    const Interval delta = gaussian::DeltaOnce(composition, c.direction, c.epsilon);
    EXPECT_LE(delta.lower(), c.delta * (1 + 1e-15)) << c.q << " " << c.mu;
    EXPECT_GE(delta.upper(), c.delta * (1 - 1e-15)) << c.q << " " << c.mu;
    EXPECT_LE(delta.RelativeGap(), 1e-9) << c.q << " " << c.mu;
    if (c.delta == 0) continue;
    const Interval epsilon = gaussian::EpsilonOnce(composition, c.direction, c.delta);
    EXPECT_LE(epsilon.lower(), c.epsilon * (1 + 1e-15)) << c.q << " " << c.mu;
    EXPECT_GE(epsilon.upper(), c.epsilon * (1 - 1e-15)) << c.q << " " << c.mu;
    EXPECT_LE(epsilon.RelativeGap(), 1e-9) << c.q << " " << c.mu;
    // The control.
    const Interval wrong = gaussian::EpsilonOnce(composition, c.direction, c.delta * (1 + 1e-6));
    EXPECT_LT(wrong.upper(), c.epsilon) << c.q << " " << c.mu;
  }
}

TEST(SampledOnce, ReachesTheSmallestDeltasAndTheEdge) {
  for (const double q : {1e-6, 0.01, 0.7}) {
    for (const double z : {0.05, 0.5, 5.0}) {
      for (const double delta : {1e-8, 1e-100, 1e-300}) {
        const Interval remove = gaussian::EpsilonOnce(Once(q, z), Direction::kRemove, delta);
        const Interval add = gaussian::EpsilonOnce(Once(q, z), Direction::kAdd, delta);
        EXPECT_LE(gaussian::DeltaOnce(Once(q, z), Direction::kRemove, remove.upper()).upper(),
                  delta * (1 + 1e-9));
        EXPECT_LE(remove.RelativeGap(), 1e-9) << q << " " << z << " " << delta;
        EXPECT_LE(add.upper(), -std::log1p(-q) * (1 + 1e-14)) << q << " " << z << " " << delta;
        EXPECT_LE(add.lower(), remove.upper());
        EXPECT_EQ(gaussian::EpsilonOnce(Once(q, z), std::nullopt, delta).upper(), remove.upper());
      }
    }
  }
}

TEST(SampledOnce, BestUsesItAndTheLossDistributionAgrees) {
  for (const double q : {1e-3, 0.2}) {
    for (const double z : {0.5, 1.0, 4.0}) {
      const auto best = ComputeEpsilon(Once(q, z), 1e-7, {});
      ASSERT_TRUE(best.ok()) << best.status();
      EXPECT_EQ(best->method, Method::kGaussian);
      EXPECT_LE(best->value.RelativeGap(), 1e-9);
      const auto by_pld = ComputeEpsilon(Once(q, z), 1e-7, {.method = Method::kPld});
      ASSERT_TRUE(by_pld.ok()) << by_pld.status();
      EXPECT_LE(best->value.lower(), by_pld->value.upper()) << q << " " << z;
      EXPECT_GE(best->value.upper(), by_pld->value.lower()) << q << " " << z;
    }
  }
}

// Total variation: 100 steps at rate 1e-6 cannot do more than 1e-4.
TEST(SampledOnce, EpsilonIsZeroWhereTotalVariationIsBelowDelta) {
  Composition composition = Once(1e-6, 1);
  composition.steps[0].count = 100;
  // 2Φ(1/2) - 1 = 0.3829249225480262.
  EXPECT_NEAR(gaussian::TotalVariationUp(composition), 3.829249225480262e-5, 1e-18);
  EXPECT_GE(gaussian::TotalVariationUp(composition), 3.829249225480262e-5);
  const auto zero = ComputeEpsilon(composition, 3.83e-5, {});
  ASSERT_TRUE(zero.ok());
  EXPECT_EQ(zero->value.upper(), 0);
  const auto positive = ComputeEpsilon(composition, 1e-7, {});
  ASSERT_TRUE(positive.ok());
  EXPECT_GT(positive->value.upper(), 0);
}

TEST(Gaussian, DoesNotApplyToSampledSteps) {
  Composition composition = Unsampled(1, 1);
  EXPECT_TRUE(gaussian::Applies(composition));
  composition.steps[0].sampling_probability = 0.5;
  EXPECT_FALSE(gaussian::Applies(composition));
}

}  // namespace
}  // namespace dpledger::accountant
