// The recursion of bounded range against closed forms, maxima over fine grids, and the optimum of
// mechanisms fixed in advance.
#include "accountant/recursion/bounded_range.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "accountant/accountant.h"
#include "accountant/mechanism/composition.h"
#include "accountant/pair/pairs.h"

namespace dpledger::accountant {
namespace {

using Profile = std::function<double(double epsilon)>;

// One mechanism: the greatest profile of any (mechanism/CLAIM.md, "Bounded range").
Profile One(double range) {
  return [range](double x) {
    if (x <= -range) return -std::expm1(x);
    if (x >= range) return 0.0;
    const double root = std::exp(range / 2) - std::exp(x / 2);
    return root * root / std::expm1(range);
  };
}

// One more before it, at the best of `cells` + 1 losses: from below.
Profile OneMore(const Profile& after, double range, int cells) {
  return [=](double x) {
    double best = 0;
    for (int i = 0; i <= cells; ++i) {
      const double t = range * i / cells;
      const double y = std::exp(t) * std::expm1(range - t) / std::expm1(range);
      best = std::fmax(best, y * after(x - t) + (1 - y) * after(x + range - t));
    }
    return best;
  };
}

// The optimum of `count` equal mechanisms fixed in advance (Dong, Durfee, Rogers 2020, arXiv
// 1909.13830): all of one t, by search over t.
double FixedInAdvance(double range, int count, double epsilon) {
  double best = 0;
  for (double t = 0.002 * range; t < range; t += 0.002 * range) {
    const double y = std::exp(t) * std::expm1(range - t) / std::expm1(range);
    double delta = 0;
    for (int low = 0; low <= count; ++low) {
      const double loss = count * t - low * range;
      if (loss <= epsilon) break;
      const double log_mass = std::lgamma(count + 1.0) - std::lgamma(low + 1.0) -
                              std::lgamma(count - low + 1.0) + (count - low) * std::log(y) +
                              low * std::log1p(-y);
      delta += std::exp(log_mass) * -std::expm1(epsilon - loss);
    }
    best = std::fmax(best, delta);
  }
  return best;
}

std::vector<ProfilePoint> Points(double range, uint64_t count) {
  auto points = BoundedRangeProfile(range, count, 1e-16, Limits{});
  EXPECT_TRUE(points.ok()) << points.status();
  return points.value_or(std::vector<ProfilePoint>());
}

TEST(BoundedRange, OneIsTheClosedForm) {
  for (const double range : {0.01, 0.5, 3.0, 12.0}) {
    for (const ProfilePoint& point : Points(range, 1)) {
      const double truth = One(range)(point.epsilon);
      EXPECT_GE(point.delta, truth * (1 - 1e-12)) << range << " " << point.epsilon;
      EXPECT_LE(point.delta, truth * 1.01 + 1e-3 * One(range)(0)) << range << " " << point.epsilon;
    }
  }
}

TEST(BoundedRange, TwoAndThreeAreTheBestOfAllLosses) {
  for (const double range : {0.2, 1.5, 6.0}) {
    const Profile two = OneMore(One(range), range, 2000);
    const Profile three = OneMore(OneMore(One(range), range, 200), range, 200);
    const auto expect = [&](const std::vector<ProfilePoint>& points, const Profile& truth) {
      for (size_t i = 0; i < points.size(); i += 24) {
        const ProfilePoint& point = points[i];
        const double below = truth(point.epsilon);
        EXPECT_GE(point.delta, below * (1 - 1e-12)) << range << " " << point.epsilon;
        EXPECT_LE(point.delta, below * 1.02 + 2e-3 * truth(0)) << range << " " << point.epsilon;
      }
    };
    expect(Points(range, 2), two);
    expect(Points(range, 3), three);
  }
}

// ε at δ by the chord between two points.
double EpsilonOf(const std::vector<ProfilePoint>& points, double delta) {
  for (size_t i = 1; i < points.size(); ++i) {
    if (points[i].delta > delta) continue;
    const double y0 = std::exp(points[i - 1].epsilon), y1 = std::exp(points[i].epsilon);
    return std::log(y0 + (y1 - y0) * (points[i - 1].delta - delta) /
                             (points[i - 1].delta - points[i].delta));
  }
  return -1;
}

TEST(BoundedRange, ManyAreALittleMoreThanFixedOnes) {
  const struct {
    double range;
    int count;
    double fixed, adaptive;  // ε at 1e-6: of fixed ones; the adaptive maximum over a grid of 64
  } cases[] = {{0.1, 10, 0.62863684, 0.63412},
               {0.5, 50, 9.34109913, 9.37509},
               {0.1, 200, 3.30074681, 3.30490}};
  for (const auto& c : cases) {
    const double epsilon = EpsilonOf(Points(c.range, static_cast<uint64_t>(c.count)), 1e-6);
    EXPECT_GE(epsilon, c.adaptive - 1e-5);
    EXPECT_LE(epsilon, c.adaptive * 1.0005);
    // The oracle, and that choosing matters.
    EXPECT_NEAR(FixedInAdvance(c.range, c.count, c.fixed), 1e-6, 1e-8);
    EXPECT_GT(c.adaptive, c.fixed);
  }
}

TEST(BoundedRange, GivesUpWhereItWouldTakeLong) {
  EXPECT_TRUE(Points(0.001, uint64_t{1} << 40).empty());
  EXPECT_TRUE(Points(500, 2).empty());
}

Composition Exponential(double range, uint64_t count) {
  Composition composition;
  const TwoCandidates least{TwoCandidates::Noise::kGumbel, range};
  composition.pairs.push_back({BoundedRangePair(range), PairOf(least, range / 2),
                               BoundedRange{range}, count, std::nullopt, least});
  return composition;
}

TEST(BoundedRange, GivesUpWhereNoQuotientIsLeft) {
  for (const double range : {0.0, 5e-324, 1e-310}) {
    const auto profile = BoundedRangeProfile(range, 2, 1e-12, {});
    ASSERT_TRUE(profile.ok()) << profile.status();
    EXPECT_TRUE(profile->empty()) << range;
  }
}

TEST(BoundedRange, AFinerWishGivesNoWiderAnswer) {
  double width = 1;
  for (const double gap : {1e-4, 1e-6, 1e-8}) {  // the last is beyond all grids
    const auto answer = ComputeEpsilon(Exponential(0.75, 5), 4e-12, {.relative_gap = gap});
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_LE(answer->value.upper() - answer->value.lower(), width) << gap;
    width = answer->value.upper() - answer->value.lower();
  }
}

TEST(BoundedRange, AnswersAreNearTheOptimum) {
  const auto best = ComputeEpsilon(Exponential(0.1, 200), 1e-6, {});
  ASSERT_TRUE(best.ok());
  EXPECT_GE(best->value.upper(), 3.30490);
  EXPECT_LE(best->value.upper(), 3.3053 * 1.0005);
  EXPECT_LE(best->value.lower(), 3.30074681);
  EXPECT_GE(best->value.lower(), 3.2);
  // Beside other steps, and with very many: by the curve.
  Composition mixed = Exponential(0.1, 200);
  mixed.steps.push_back({0.01, {1, 1}, 1000});
  const auto renyi = ComputeEpsilon(mixed, 1e-6, {.method = Method::kRdp});
  const auto beside = ComputeEpsilon(mixed, 1e-6, {});
  ASSERT_TRUE(renyi.ok() && beside.ok());
  EXPECT_EQ(beside->method, Method::kContour);
  EXPECT_LT(beside->value.upper(), 0.95 * renyi->value.upper());
  EXPECT_LE(beside->value.RelativeGap(), 0.02);
  const auto many = ComputeEpsilon(Exponential(0.001, 3'000'000), 1e-6, {});
  ASSERT_TRUE(many.ok());
  EXPECT_LE(many->value.RelativeGap(), 0.1);
}

}  // namespace
}  // namespace dpledger::accountant
