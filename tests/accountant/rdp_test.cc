#include "accountant/rdp/rdp.h"

#include <gtest/gtest.h>

#include <cmath>

#include "accountant/rdp/sampled_gaussian.h"
#include "tests/accountant/reference_steps.h"
#include "tests/support/json_file.h"

namespace dpledger::accountant {
namespace {

using ::dpledger::testing::ListAt;
using ::dpledger::testing::NumberAt;
using ::dpledger::testing::ReadJsonFile;
using ::dpledger::testing::StringAt;

TEST(RenyiMoment, IsAnUpperBoundCloseToTheOracle) {
  const auto oracle = ReadJsonFile("tests/data/accounting_oracle.json");
  ASSERT_GT(ListAt(oracle, "renyi_moment").size(), 100);
  for (const auto& value : ListAt(oracle, "renyi_moment")) {
    const auto& c = value.struct_value();
    const double exact = NumberAt(c, "log_moment");
    const double found = rdp::LogMomentUp(NumberAt(c, "q"), 1 / NumberAt(c, "noise_multiplier"),
                                          NumberAt(c, "order"));
    const std::string at = value.DebugString();
    // 1/z is itself rounded: the moment moves by at most a few u relatively.
    EXPECT_GE(found, exact * (1 - 2e-15)) << at;
    // Near order one the two halves of the moment cancel down to α - 1 of their size.
    EXPECT_LE(found, exact * (1 + (NumberAt(c, "order") < 1.1 ? 1e-7 : 1e-10))) << at;
  }
}

// A published library gives 6.7058e-4 / 50 for this order; 30-digit quadrature does not.
TEST(RenyiMoment, FractionalOrderBelowTwoIsNotThePublishedWrongValue) {
  EXPECT_NEAR(50 * rdp::LogMomentUp(0.01, 1 / 2.5, 1.5) / 0.5, 6.50070897188e-4, 1e-14);
}

TEST(RenyiMoment, GrowsWithOrderSamplingAndLessNoise) {
  EXPECT_LT(rdp::LogMomentUp(0.01, 1, 2), rdp::LogMomentUp(0.01, 1, 2.1));
  EXPECT_LT(rdp::LogMomentUp(0.01, 1, 2), rdp::LogMomentUp(0.011, 1, 2));
  EXPECT_LT(rdp::LogMomentUp(0.01, 1, 2), rdp::LogMomentUp(0.01, 1.1, 2));
}

// The near-one and log-domain sums must agree where they meet.
TEST(RenyiMoment, BothSummationsMeet) {
  double before = 0;
  for (double q = 0.001; q < 1; q *= 1.05) {
    const double at = rdp::LogMomentUp(q, 0.5, 8);
    EXPECT_GT(at, before) << q;
    EXPECT_LT(before == 0 ? 1 : at / before, 1.2) << q;
    before = at;
  }
}

TEST(Rdp, EpsilonOfTheStandardRunIsBelowTheFixedGridOfOrders) {
  Composition composition;
  composition.steps.push_back({0.01, {1, 1}, 10000});
  const auto epsilon = rdp::EpsilonFromCurve(rdp::CurveOf(composition), 1e-5, {});
  ASSERT_TRUE(epsilon.ok());
  EXPECT_LE(epsilon->value, 6.712738297403128);  // Opacus 1.5.4, orders 1.1..63
  EXPECT_GE(epsilon->value, 6.187712389971539);  // the truth
  EXPECT_NEAR(epsilon->order, 4.135, 0.01);
}

TEST(Rdp, NeverAboveOtherLibrariesAndNeverBelowTheTruthTheyBound) {
  const auto peers = ReadJsonFile("tests/data/peer_epsilon.json");
  int compared = 0;
  for (const auto& value : ListAt(peers, "cases")) {
    const auto& c = value.struct_value();
    if (StringAt(c, "quantity") != "epsilon") continue;
    const Composition composition = StepsOf(c);
    const auto epsilon = rdp::EpsilonFromCurve(rdp::CurveOf(composition), NumberAt(c, "delta"), {});
    ASSERT_TRUE(epsilon.ok());
    if (StringAt(c, "accountant") == "rdp") {
      EXPECT_LE(epsilon->value, NumberAt(c, "value") * (1 + 1e-9)) << StringAt(c, "id");
      ++compared;
    } else if (StringAt(c, "accountant") == "prv") {
      EXPECT_GE(epsilon->value, NumberAt(c, "lower")) << StringAt(c, "id");
      ++compared;
    }
  }
  EXPECT_GT(compared, 50);
}

TEST(Rdp, DeltaAndEpsilonConvertIntoEachOther) {
  Composition composition;
  composition.steps.push_back({0.02, {1.1, 1.1}, 500});
  const rdp::ApproximateCurve curve = rdp::CurveOf(composition);
  const auto epsilon = rdp::EpsilonFromCurve(curve, 1e-6, {});
  const auto delta = rdp::DeltaFromCurve(curve, epsilon->value, {});
  EXPECT_NEAR(delta->value / 1e-6, 1, 1e-6);
}

TEST(Rdp, StopsWhenCancelled) {
  Composition composition;
  composition.steps.push_back({0.02, {1.1, 1.1}, 500});
  Limits limits;
  limits.cancelled = [] { return true; };
  EXPECT_EQ(rdp::EpsilonFromCurve(rdp::CurveOf(composition), 1e-6, limits).status().code(),
            absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace dpledger::accountant
