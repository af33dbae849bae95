// Where a calibration's search expects the target, against functions whose inverse is known.
#include "accountant/calibration/tried.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace dpledger::accountant {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// y = 2 - l + bend·l².
Tried At(double log_epsilon, double bend) {
  return {2 - log_epsilon + bend * log_epsilon * log_epsilon, log_epsilon};
}

TEST(Tried, ParabolasAndChordsAreMetToWhatTheyMayBeOff) {
  for (const double bend : {0.0, 0.1, -0.1}) {
    const Tried missed = At(1, bend), safe = At(-1, bend), third = At(2, bend);
    for (const double aim : {-0.9, -0.2, 0.3, 0.8}) {
      const double truth = At(aim, bend).y;
      const auto met = Meets(safe, missed, {safe, third, missed}, aim, 1e-9);
      ASSERT_TRUE(met.has_value());
      // Towards the farther end by a fifth of how far the parabola is from the chord.
      const double bent = std::fabs(bend) * (1 - aim * aim);
      EXPECT_NEAR(std::fabs(*met - truth), 0.2 * bent, 1e-9) << bend << ", " << aim;
      EXPECT_EQ(*met > truth, truth < (safe.y + missed.y) / 2) << bend << ", " << aim;
    }
  }
  // With no third point the chord, and a tenth of the shorter part of it.
  EXPECT_NEAR(*Meets(At(-1, 0), At(1, 0), {At(-1, 0), At(1, 0)}, 0.5, 1e-9), 1.5 + 0.05, 1e-12);
}

TEST(Tried, GuessesStayInsideTheBracketAndMoveByTheTolerance) {
  const Tried missed = At(1, 0), safe = At(-1, 0);
  for (const double aim : {-5.0, -1.0, 1.0, 5.0}) {
    const double y = *Meets(safe, missed, {}, aim, 1e-9);
    EXPECT_GE(y, missed.y + 1e-3 * 2 - 1e-12) << aim;
    EXPECT_LE(y, safe.y - 1e-3 * 2 + 1e-12) << aim;
  }
  EXPECT_NEAR(*Meets(safe, missed, {}, 0.99, 0.1), missed.y + 0.01 + 0.04, 1e-12);
}

TEST(Tried, NothingIsMetWhereEpsilonDoesNotFall) {
  EXPECT_FALSE(Meets({3, -1}, {1, -1}, {}, -2, 1e-3).has_value());
  EXPECT_FALSE(Meets({3, -1}, {1, kInfinity}, {}, 0, 1e-3).has_value());
  EXPECT_FALSE(Meets({3, -kInfinity}, {1, 1}, {}, 0, 1e-3).has_value());
}

TEST(Tried, TheNearestTwoPointsTellTheSlope) {
  const std::vector<Tried> points = {{0, 10}, {1, 8}, {2, 7}, {9, kInfinity}};
  EXPECT_NEAR(FallAt(points, 0.2), 2, 1e-12);
  EXPECT_NEAR(FallAt(points, 8.9), 1, 1e-12);
  // Unknown, flat, or rising.
  EXPECT_EQ(FallAt({{0, 1}}, 0), 0);
  EXPECT_EQ(FallAt({{0, 1}, {1, 1 - 1e-7}}, 0), 0);
  EXPECT_EQ(FallAt({{0, 1}, {1, 2}}, 0), 0);
}

}  // namespace
}  // namespace dpledger::accountant
