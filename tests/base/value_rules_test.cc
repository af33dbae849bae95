// Each rule at the ends of its domain.
#include "base/value_rules.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace dpledger::rules {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLeast = std::numeric_limits<double>::denorm_min();

TEST(Rules, OfRealNumbersEndWhereTheySay) {
  using Rule = absl::Status (*)(std::string_view, double);
  const struct {
    Rule rule;
    std::vector<double> good, bad;
  } rows[] = {
      {Positive, {kLeast, 1, 1e308}, {0, -kLeast, kInfinity}},
      {NonNegative, {0, kLeast, 1e308}, {-kLeast, kInfinity}},
      {NonNegativeOrInfinite, {0, kInfinity}, {-kLeast, -kInfinity}},
      {SamplingProbability, {kLeast, 1}, {0, std::nextafter(1, 2), kInfinity}},
      {Probability, {0, 1}, {-kLeast, std::nextafter(1, 2)}},
      {WholeDouble, {1, 9007199254740991}, {0, .5, 1.5, 9007199254740992, kInfinity}},
  };
  for (const auto& row : rows) {
    for (const double good : row.good) EXPECT_TRUE(row.rule("x", good).ok()) << good;
    for (const double bad : row.bad) EXPECT_FALSE(row.rule("x", bad).ok()) << bad;
    EXPECT_FALSE(row.rule("x", std::nan("")).ok());
  }
  EXPECT_FALSE(GreaterThan(2, "x", 2).ok());
  EXPECT_TRUE(AtLeast(2, "x", 2).ok());
  EXPECT_EQ(GreaterThan(.5, "x", .25).message(), "x: must be finite and > 0.5, got 0.25");
}

TEST(Rules, OfWholeNumbersEndWhereTheySay) {
  EXPECT_TRUE(Count("x", 1).ok() && Count("x", kMaxWhole).ok());
  EXPECT_FALSE(Count("x", 0).ok() || Count("x", kMaxWhole + 1).ok());
  EXPECT_TRUE(Ordinal("x", 0).ok() && Ordinal("x", kMaxWhole - 1).ok());
  EXPECT_FALSE(Ordinal("x", kMaxWhole).ok());
  EXPECT_EQ(WholeIn(2, 5, "x", 6).message(), "x: must be in [2, 5], got 6");
  EXPECT_EQ(Count("x", 0).message(), "x: must be in [1, 2^53], got 0");
}

TEST(Rules, OfListsAndTextsNameWhatTheyHold) {
  EXPECT_EQ(Text(1, 4, "x", "").message(), "x: must be 1 to 4 bytes long, got 0");
  EXPECT_EQ(Text(0, 4, "x", "12345").message(), "x: must be at most 4 bytes long, got 5");
  EXPECT_FALSE(NotEmpty("x", 0).ok());
  EXPECT_EQ(AsMany("x", 1, "y", 2).message(), "x: must be as many as y (2), got 1");
  EXPECT_EQ(Within(Element("list", 3), Count("x", 0)).message(),
            "list[3].x: must be in [1, 2^53], got 0");
}

}  // namespace
}  // namespace dpledger::rules
