// Profile outputs against closed forms and against the certified values of each direction.
#include <gtest/gtest.h>

#include <cmath>

#include "accountant/accountant.h"
#include "tests/accountant/reference_steps.h"
#include "tests/support/json_file.h"

namespace dpledger::accountant {
namespace {

using ::dpledger::testing::ListAt;
using ::dpledger::testing::NumberAt;
using ::dpledger::testing::ReadJsonFile;
using ::dpledger::testing::StringAt;

// ---- One direction alone ----

TEST(OneDirection, EpsilonContainsTheCertifiedValueOfThatDirection) {
  const auto certified = ReadJsonFile("tests/data/certified_epsilon.json");
  int add = 0, remove = 0;
  for (const auto& value : ListAt(certified, "cases")) {
    const auto& c = value.struct_value();
    if (StringAt(c, "direction") == "both") continue;
    const Direction direction =
        StringAt(c, "direction") == "add" ? Direction::kAdd : Direction::kRemove;
    ++(direction == Direction::kAdd ? add : remove);
    const double truth = NumberAt(c, "epsilon");
    const double slack = truth * NumberAt(c, "relative_uncertainty");
    const auto found = ComputeEpsilonIn(direction, StepsOf(c), NumberAt(c, "delta"), {});
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_LE(found->value.lower, truth + slack) << value.DebugString();
    EXPECT_GE(found->value.upper, truth - slack) << value.DebugString();
    EXPECT_LE(found->value.RelativeGap(), 1e-4) << value.DebugString();
    // δ at that ε, back.
    const auto back = ComputeDeltaIn(direction, StepsOf(c), found->value.upper, {});
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_LE(back->value.lower, NumberAt(c, "delta"));
  }
  EXPECT_GE(add, 3);
  EXPECT_GE(remove, 10);
}

TEST(OneDirection, TheWorseOfBothIsTheGuaranteeWithEveryMethod) {
  Composition composition;
  composition.steps.push_back({0.01, {1, 1}, 1000});
  for (const Method method : {Method::kBest, Method::kContour, Method::kPld}) {
    const Options options{method, 1e-4, {}};
    const auto remove = ComputeDeltaIn(Direction::kRemove, composition, 1, options);
    const auto add = ComputeDeltaIn(Direction::kAdd, composition, 1, options);
    const auto both = ComputeDelta(composition, 1, options);
    ASSERT_TRUE(remove.ok() && add.ok() && both.ok());
    // Add is the smaller by far here: an answer for the wrong direction would show.
    EXPECT_LT(add->value.upper, 0.9 * remove->value.lower);
    EXPECT_LE(both->value.lower, remove->value.upper);
    EXPECT_GE(both->value.upper, remove->value.lower);
  }
}

TEST(OneDirection, RefusesWhatBothRefuse) {
  Composition composition;
  composition.steps.push_back({0.01, {1, 1}, 1000});
  EXPECT_EQ(ComputeDeltaIn(Direction::kAdd, composition, -1, {}).status().message(),
            "epsilon: must be finite and >= 0, got -1");
  EXPECT_EQ(ComputeEpsilonIn(Direction::kAdd, composition, 1, {}).status().message(),
            "delta: must be in (0, 1), got 1");
}

}  // namespace
}  // namespace dpledger::accountant
