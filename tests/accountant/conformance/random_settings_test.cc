// A few hundred of the settings that bench/sweep_benchmark.cc asks by the thousand, and the truth
// of those that tests/oracle/sampled_gaussian_oracle.cc resolves.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "accountant/accountant.h"
#include "tests/support/json_file.h"
#include "tests/support/random_setting.h"

namespace dpledger::accountant::conformance {
namespace {

using testing::ListAt;
using testing::NumberAt;
using testing::ReadJsonFile;

constexpr double kGap = 1e-3;

Composition Steps(double q, double z, uint64_t count) {
  Composition composition;
  composition.steps.push_back({q, {z, z}, count});
  return composition;
}

absl::StatusOr<Answer> Epsilon(const Composition& composition, double delta, Method method) {
  Options options;
  options.method = method;
  options.relative_gap = kGap;
  return ComputeEpsilon(composition, delta, options);
}

TEST(RandomSettings, AreAnsweredWithOrderedBoundsNotAboveRenyi) {
  constexpr int kSettings = 150;
  int narrow = 0;
  for (int i = 0; i < kSettings; ++i) {
    const auto setting = testing::RandomSettingAt(i);
    const Composition composition =
        Steps(setting.sampling_probability, setting.noise_multiplier, setting.steps);
    const auto best = Epsilon(composition, setting.delta, Method::kBest);
    const auto rdp = Epsilon(composition, setting.delta, Method::kRdp);
    ASSERT_TRUE(best.ok() && rdp.ok()) << i << best.status() << rdp.status();
    EXPECT_LE(best->value.lower(), best->value.upper()) << i;
    EXPECT_LE(best->value.upper(), rdp->value.upper() * (1 + 1e-9)) << i;
    narrow += best->value.RelativeGap() <= kGap;
  }
  EXPECT_GE(narrow, kSettings * 3 / 4);
}

// How many of the cases at `scale` times the true ε lie inside our intervals.
struct Found {
  int cases = 0, inside = 0;
};
Found Compare(double scale, bool report) {
  Found found;
  const auto oracle = ReadJsonFile("tests/data/random_epsilon.json");
  for (const auto& value : ListAt(oracle, "cases")) {
    const auto& c = value.struct_value();
    const double truth = NumberAt(c, "epsilon") * scale,
                 slack = truth * NumberAt(c, "relative_uncertainty");
    const auto best = Epsilon(Steps(NumberAt(c, "q"), NumberAt(c, "noise_multiplier"),
                                    static_cast<uint64_t>(NumberAt(c, "steps"))),
                              NumberAt(c, "delta"), Method::kBest);
    EXPECT_TRUE(best.ok()) << best.status();
    if (!best.ok()) continue;
    const bool inside =
        best->value.lower() <= truth + slack && truth - slack <= best->value.upper();
    if (report) {
      EXPECT_TRUE(inside) << MethodName(best->method) << " [" << best->value.lower() << ", "
                          << best->value.upper() << "] " << value.ShortDebugString();
    }
    ++found.cases;
    found.inside += inside;
  }
  return found;
}

TEST(RandomSettings, IntervalsContainTheOraclesValues) {
  const Found found = Compare(1, true);
  EXPECT_GE(found.cases, 80);
  EXPECT_EQ(found.inside, found.cases);
}

// The intervals are too narrow for a value that is off by a hundredth.
TEST(RandomSettings, IntervalsDoNotContainWrongValues) {
  EXPECT_LE(Compare(0.99, false).inside, Compare(1, false).cases / 5);
}

}  // namespace
}  // namespace dpledger::accountant::conformance
