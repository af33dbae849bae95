// Rounds of which a record is hardly ever in two: against the contour integral, which sees the
// whole run, and against the grid beside the rate.
#include "accountant/pld/rarely_sampled.h"

#include <gtest/gtest.h>

#include <cmath>

#include "accountant/accountant.h"
#include "accountant/contour/contour.h"

namespace dpledger::accountant {
namespace {

Composition Rounds(double q, double z, uint64_t count) {
  Composition composition;
  composition.steps.push_back({q, {z, z}, count});
  return composition;
}

std::optional<Interval> Rarely(std::optional<Direction> direction, const Composition& composition,
                               double delta, double gap) {
  const auto found = pld::EpsilonOfRarelySampled(direction, composition, delta, gap, {});
  EXPECT_TRUE(found.ok()) << found.status();
  return found.value_or(std::nullopt);
}

// (q, z, rounds, δ) for which the contour closes.
struct Setting {
  double q, z;
  uint64_t rounds;
  double delta;
};
constexpr Setting kClosed[] = {{1e-7, .3, 100, 2e-6},
                               {1e-7, .3, 100, 5.1e-7},
                               {1e-6, .3, 10, 3e-6},
                               {1e-6, .25, 15, 6e-6},
                               {2e-6, .3, 8, 4e-6},
                               // Twice in the sample is near a hundredth of δ.
                               {9e-4, .3, 10, 6e-3}};

TEST(RarelySampled, OverlapsTheContour) {
  for (const Setting& s : kClosed) {
    const Composition rounds = Rounds(s.q, s.z, s.rounds);
    const auto found = Rarely({}, rounds, s.delta, 1e-6);
    const auto contour = contour::Epsilon(rounds, s.delta, {});
    ASSERT_TRUE(contour.ok()) << contour.status();
    ASSERT_TRUE(found.has_value() && contour->has_value()) << s.q << " " << s.delta;
    EXPECT_LE(found->lower(), (*contour)->upper()) << s.q << " " << s.delta;
    EXPECT_GE(found->upper(), (*contour)->lower()) << s.q << " " << s.delta;
    EXPECT_LT(found->RelativeGap(), s.delta > 1e-3 ? .2 : 1e-3) << s.q << " " << s.delta;
  }
  const Setting& s = kClosed[0];
  const auto remove = Rarely(Direction::kRemove, Rounds(s.q, s.z, s.rounds), s.delta, 1e-4);
  const auto both = Rarely({}, Rounds(s.q, s.z, s.rounds), s.delta, 1e-4);
  ASSERT_TRUE(remove.has_value() && both.has_value());
  EXPECT_EQ(remove->upper(), both->upper());
}

// The loss grid knew δ(0) within 8 % only.
TEST(RarelySampled, DecidesNextToTheRate) {
  const Setting s{1.174019368508167e-6, .35345312147261154, 4, 3.4687389929285416e-6};
  const auto answer = ComputeEpsilon(Rounds(s.q, s.z, s.rounds), s.delta, {});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->value.upper(), 0);
  // A little less δ, and ε is above 0.
  const auto less = ComputeEpsilon(Rounds(s.q, s.z, s.rounds), .97 * s.delta, {});
  ASSERT_TRUE(less.ok()) << less.status();
  EXPECT_GT(less->value.lower(), 0);
  EXPECT_LT(less->value.RelativeGap(), .01);
}

TEST(RarelySampled, IsSilentWhereItDoesNotApply) {
  EXPECT_FALSE(Rarely({}, Rounds(1e-4, .5, 50), 1e-6, 1e-4).has_value());  // often in two
  EXPECT_FALSE(Rarely({}, Rounds(.2, .5, 50), 1e-6, 1e-4).has_value());    // always
  EXPECT_FALSE(Rarely({}, Rounds(1e-7, .5, 1), 1e-8, 1e-4).has_value());   // one round
  EXPECT_FALSE(Rarely(Direction::kAdd, Rounds(1e-7, .3, 100), 2e-6, 1e-4).has_value());
  Composition two = Rounds(1e-7, .3, 100);
  two.steps.push_back({1e-7, {1, 1}, 100});
  EXPECT_FALSE(Rarely({}, two, 2e-6, 1e-4).has_value());
}

TEST(RarelySampled, ADeltaAboveTheRateIsFree) {
  const auto found = Rarely({}, Rounds(1e-7, .3, 100), 1.1e-5, 1e-4);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->upper(), 0);
}

}  // namespace
}  // namespace dpledger::accountant
