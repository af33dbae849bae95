// Sums of what a filter adds up: exact, never below the doubles they are made of, and the same in
// any order.
#include "accountant/filter/tally.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <random>

namespace dpledger::accountant::filter {
namespace {

using ::testing::ElementsAre;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(Tally, AddsAndTakesAwayExactlyInAnyOrder) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> exponent(-60, 20);
  std::vector<Uses> uses;
  for (int i = 0; i < 200; ++i)
    uses.push_back({std::exp2(exponent(random)), 3 * std::exp2(exponent(random))});
  Tally forwards(2), backwards(2);
  long double sum = 0;
  for (const Uses& use : uses) {
    forwards.Add(use, 3);
    sum += 3 * static_cast<long double>(use[0]);
  }
  for (auto use = uses.rbegin(); use != uses.rend(); ++use) backwards.Add(*use, 3);
  EXPECT_EQ(forwards.Total(), backwards.Total());
  EXPECT_GE(forwards.Total()[0], sum * (1 - 1e-17L));
  EXPECT_LE(forwards.Total()[0], sum * (1 + 1e-15L));
  Tally part(2);
  part.Add({0.1, kInfinity}, 7);
  const Uses before = forwards.Total();
  forwards.Add(part);
  EXPECT_GT(forwards.Total()[0], before[0]);
  EXPECT_EQ(forwards.Total()[1], kInfinity);
  forwards.Remove(part);
  EXPECT_EQ(forwards.Total(), before);
}

TEST(Tally, RoundsUpWhatHasNoUnitOfItsOwn) {
  Tally tally(1);
  tally.Add({1e-300}, 1);
  EXPECT_GE(tally.Total()[0], std::exp2(-80));
  EXPECT_THAT(Tally(2).Total(), ElementsAre(0, 0));
  Tally none(1);
  none.Add({5}, 0);
  EXPECT_THAT(none.Total(), ElementsAre(0));
}

TEST(Tally, IsInfiniteOnceItIsTooLargeAndStaysSo) {
  Tally large(1);
  large.Add({std::exp2(32)}, 1);
  EXPECT_THAT(large.Total(), ElementsAre(kInfinity));
  Tally many(1);
  many.Add({std::exp2(31)}, uint64_t{1} << 53);
  EXPECT_THAT(many.Total(), ElementsAre(kInfinity));
  Tally part(1);
  part.Add({std::exp2(31)}, 1 << 10);
  Tally sum(1);
  for (int i = 0; i < 40; ++i) sum.Add(part);
  EXPECT_THAT(sum.Total(), ElementsAre(kInfinity));  // 2^46 and more
  sum.Remove(part);
  EXPECT_THAT(sum.Total(), ElementsAre(kInfinity));
  part.Add({std::nan("")}, 1);
  EXPECT_THAT(part.Total(), ElementsAre(kInfinity));
}

TEST(Tally, SaysHowManyMoreHold) {
  Tally tally(1);
  tally.Add({0.25}, 4);
  const auto holds = [](const Tally& sum) { return sum.Total()[0] <= 2.6; };
  EXPECT_EQ(tally.MostThatHolds({0.25}, 1000, holds), 6u);
  EXPECT_EQ(tally.MostThatHolds({0.25}, 5, holds), 5u);
  EXPECT_EQ(tally.MostThatHolds({2}, 1000, holds), 0u);
  EXPECT_EQ(tally.MostThatHolds({0}, 1000, holds), 1000u);
}

}  // namespace
}  // namespace dpledger::accountant::filter
