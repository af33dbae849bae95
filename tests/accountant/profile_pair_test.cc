// What is known by a bound on its profile alone composes like a mechanism with a pair: against
// closed forms and enumerations of mechanisms that keep to the bound.
#include "accountant/pair/profile_pair.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "accountant/accountant.h"
#include "accountant/gaussian/gaussian.h"
#include "accountant/gaussian/sampled_once.h"
#include "accountant/mechanism/composition.h"
#include "accountant/pair/pairs.h"
#include "accountant/rdp/curve_profile.h"

namespace dpledger::accountant {
namespace {

// Outcomes of a mechanism on both data sets.
using Law = std::vector<Atom>;

double Profile(const Law& law, double epsilon, Direction direction) {
  double sum = 0;
  for (const Atom& atom : law) {
    const double p = direction == Direction::kRemove ? atom.p : atom.q;
    const double q = direction == Direction::kRemove ? atom.q : atom.p;
    sum += std::fmax(0, p - std::exp(epsilon) * q);
  }
  return sum;
}

// The second mechanism may be another one for each outcome of the first.
Law Then(const Law& first, const std::function<Law(const Atom&)>& second) {
  Law both;
  for (const Atom& a : first) {
    for (const Atom& b : second(a)) both.push_back({a.p * b.p, a.q * b.q});
  }
  return both;
}
Law Then(const Law& first, const Law& second) {
  return Then(first, [&](const Atom&) { return second; });
}

double Epsilon(const Law& law, double delta) {
  double epsilon = 0;
  for (const Direction direction : {Direction::kRemove, Direction::kAdd}) {
    double low = 0, high = 100;
    if (Profile(law, 0, direction) <= delta) continue;
    for (int i = 0; i < 80; ++i) {
      const double middle = (low + high) / 2;
      (Profile(law, middle, direction) > delta ? low : high) = middle;
    }
    epsilon = std::fmax(epsilon, low);
  }
  return epsilon;
}

std::vector<ProfilePoint> PointsOf(const std::function<double(double)>& delta, double last,
                                   double step) {
  std::vector<ProfilePoint> points;
  for (double epsilon = 0; epsilon < last; epsilon += step)
    points.push_back({epsilon, delta(epsilon)});
  return points;
}

Composition SampledOnce(double q, double z) {
  Composition composition;
  composition.steps.push_back({q, {z, z}, 1});
  return composition;
}

// ---- The pair of a profile ----

TEST(ProfilePair, LiesAboveTheProfileInBothDirectionsAndMeetsItsPoints) {
  const Composition step = SampledOnce(0.1, 0.7);
  const auto delta = [&](Direction direction) {
    return [&step, direction](double epsilon) {
      return gaussian::DeltaOnce(step, direction, epsilon).upper();
    };
  };
  // Add has no loss above -log(1 - q) = .105: points further out are 0 or nearly.
  const Pair pair = PairOfProfile(PointsOf(delta(Direction::kRemove), 12, 0.05),
                                  PointsOf(delta(Direction::kAdd), 0.11, 0.01));
  double p = 0, q = 0;
  for (const Atom& atom : pair.atoms) {
    p += atom.p;
    q += atom.q;
  }
  EXPECT_NEAR(p, 1, 1e-12);
  EXPECT_NEAR(q, 1, 1e-12);
  for (const Direction direction : {Direction::kRemove, Direction::kAdd}) {
    const double step_size = direction == Direction::kRemove ? 0.05 : 0.01;
    for (int i = 0; i < 40; ++i) {
      const double at = step_size * i / 4;
      const double truth = gaussian::DeltaOnce(step, direction, at).lower();
      const double found = Profile(pair.atoms, at, direction);
      EXPECT_GE(found, truth) << at;
      EXPECT_LE(found, truth + (i % 4 == 0 ? 1e-14 : 2e-3)) << at;
    }
  }
}

// Far out, where masses are differences of nearly equal slopes of tiny values.
TEST(ProfilePair, KeepsItsDigitsWhereDeltaIsTiny) {
  Composition step;
  step.steps.push_back({1, {0.25, 0.25}, 1});
  const auto points =
      PointsOf([&](double epsilon) { return gaussian::Delta(step, epsilon).upper(); }, 140, 0.01);
  const Pair pair = PairOfProfile(points, points);
  for (const double at : {0.0, 20.0, 60.0, 100.0, 130.0}) {
    const double truth = gaussian::Delta(step, at).lower();
    for (const Direction direction : {Direction::kRemove, Direction::kAdd}) {
      const double found = Profile(pair.atoms, at, direction);
      EXPECT_GE(found, truth * (1 - 1e-13)) << at;
      EXPECT_LE(found, truth * (1 + 1e-9)) << at;
    }
  }
}

TEST(ProfilePair, LeavesOutPointsAboveTheChordBetweenTheirNeighbours) {
  // In y = e^ε: 1/2 at 1, 1/4 at 3 and 0 at 5 are on one line, 3/8 at 4 is above it.
  const std::vector<ProfilePoint> line{{0, 0.5}, {std::log(3), 0.25}, {std::log(5), 0}};
  std::vector<ProfilePoint> with_more = line;
  with_more.insert(with_more.begin() + 2, {std::log(4.0), 0.375});
  const Pair pair = PairOfProfile(line, {}), same = PairOfProfile(with_more, {});
  for (const double at : {0.0, 0.5, 1.0, 1.5, 2.0}) {
    const double truth = std::fmax(0, (5 - std::exp(at)) / 8);
    EXPECT_NEAR(Profile(pair.atoms, at, Direction::kRemove), truth, 1e-14);
    EXPECT_NEAR(Profile(same.atoms, at, Direction::kRemove), truth, 1e-14);
  }
  // Of add nothing is known but δ(0).
  EXPECT_NEAR(Profile(pair.atoms, 3, Direction::kAdd), 0.5, 1e-14);
}

TEST(ProfilePair, ConvexityReachesAcrossZero) {
  // (3/4, 1/4) against (1/4, 3/4): δ(0) = 1/2, known only as 0.6; the chord between d(0) = 1 and
  // d(3) = 0 passes below that, at 2/3 for y = 1: so 0.6 stays, and 0.7 does not.
  const auto at_zero = [](double delta_zero) {
    const std::vector<ProfilePoint> points{{0, delta_zero}, {std::log(3.0), 0}};
    return Profile(PairOfProfile(points, points).atoms, 0, Direction::kRemove);
  };
  EXPECT_NEAR(at_zero(0.5), 0.5, 1e-14);
  // Known of both directions: the chord from (1/3, 2/3) to (3, 0) is 1/2 at y = 1.
  EXPECT_NEAR(at_zero(0.6), 0.5, 1e-14);
  EXPECT_NEAR(at_zero(0.7), 0.5, 1e-14);
  EXPECT_NEAR(at_zero(0.4), 0.4, 1e-14);
}

TEST(ProfilePair, NothingKnownIsEverything) {
  const Pair pair = PairOfProfile({}, {});
  for (const Direction direction : {Direction::kRemove, Direction::kAdd})
    EXPECT_NEAR(Profile(pair.atoms, 100, direction), 1, 1e-14);
}

// ---- Curves beside pairs ----

// The Rényi divergence of a law, both directions.
double Divergence(const Law& law, double order) {
  double remove = 0, add = 0;
  for (const Atom& a : law) {
    remove += std::pow(a.p, order) * std::pow(a.q, 1 - order);
    add += std::pow(a.q, order) * std::pow(a.p, 1 - order);
  }
  return std::log(std::fmax(remove, add)) / (order - 1);
}

Law TwoPoints(double p, double q) { return {{p, q}, {1 - p, 1 - q}}; }

Answer Best(const Composition& composition, double delta) {
  const auto answer = ComputeEpsilon(composition, delta, {});
  EXPECT_TRUE(answer.ok()) << answer.status();
  return answer.value_or(Answer{});
}

constexpr double kRounding = 1e-12;

TEST(CurvesBesidePairs, HoldForMechanismsThatOnlyKeepToTheCurve) {
  // Two mechanisms of which only the greater of their divergences is told.
  const Law steep = TwoPoints(0.02, 0.004), flat = TwoPoints(0.56, 0.5);
  OrdersCurve curve;
  for (double order = 1.05; order < 60; order *= 1.05) {
    curve.orders.push_back(order);
    curve.epsilons.push_back(std::fmax(Divergence(steep, order), Divergence(flat, order)) *
                             (1 + 1e-12));
  }
  const Law response = TwoPoints(0.7, 0.3);
  Composition composition;
  const Pair pair = EpsilonDeltaPair(std::log(7.0 / 3), 0, Bound::kUpper);
  composition.pairs.push_back({pair, pair, std::nullopt, 2});
  composition.curves.push_back({curve, 2});
  for (const double delta : {1e-4, 1e-2, 0.1, 0.3}) {
    const double found = Best(composition, delta).value.upper();
    double greatest = 0;
    for (const Law& first : {steep, flat}) {
      for (const Law& second : {steep, flat}) {
        greatest = std::fmax(greatest,
                             Epsilon(Then(Then(response, first), Then(response, second)), delta));
        // Curve, response, and a curve's mechanism chosen by the response, and by what came before.
        const Law chosen = Then(first, [&](const Atom& before) {
          return Then(response, [&](const Atom& outcome) {
            return (outcome.p > outcome.q) == (before.p > before.q) ? second : first;
          });
        });
        greatest = std::fmax(greatest, Epsilon(Then(chosen, response), delta));
      }
    }
    EXPECT_GE(found * (1 + kRounding), greatest) << delta;
    EXPECT_LE(found, 1.5 * greatest + 0.2) << delta << ": a bound this loose tests nothing";
  }
}

// Control of the above: twice the mechanism is not within the bound for one.
TEST(CurvesBesidePairs, AMechanismThatBreaksItsCurveIsSeen) {
  const Law law = TwoPoints(0.02, 0.004);
  OrdersCurve curve;
  for (double order = 1.05; order < 60; order *= 1.05) {
    curve.orders.push_back(order);
    curve.epsilons.push_back(Divergence(law, order));
  }
  Composition composition;
  const Pair pair = EpsilonDeltaPair(1, 0, Bound::kUpper);
  composition.pairs.push_back({pair, pair, std::nullopt, 1});
  composition.curves.push_back({curve, 1});
  const double e = std::exp(1.0);
  const Law response = TwoPoints(e / (1 + e), 1 / (1 + e));
  EXPECT_LT(Best(composition, 0.004).value.upper(), Epsilon(Then(response, Then(law, law)), 0.004));
  EXPECT_GE(Best(composition, 0.004).value.upper(), Epsilon(Then(response, law), 0.004));
}

// A Gaussian told by its zCDP alone: at least as much as the Gaussian itself, and hardly more.
TEST(CurvesBesidePairs, CostLittleMoreThanTheGaussianTheyMayBe) {
  for (const auto& [z, most] : {std::pair{1000.0, 1.0001}, {100.0, 1.0002}, {10.0, 1.002}}) {
    Composition run;
    run.steps.push_back({0.01, {1, 1}, 10000});
    Composition told = run, known = run;
    told.curves.push_back({ZeroConcentrated{1 / (2 * z * z), 0}, 1});
    known.steps.push_back({1, {z, z}, 1});
    const Answer answer = Best(told, 1e-5), truth = Best(known, 1e-5), alone = Best(run, 1e-5);
    EXPECT_GE(answer.value.upper(), truth.value.lower()) << z;
    EXPECT_LE(answer.value.upper(), most * truth.value.upper()) << z;
    // What is known by a curve alone may be nothing.
    EXPECT_LE(answer.value.lower(), alone.value.upper()) << z;
    EXPECT_GE(answer.value.lower(), alone.value.lower() * (1 - 1e-9)) << z;
    EXPECT_THAT(answer.warnings, ::testing::Contains(::testing::HasSubstr("Rényi curve alone")));
  }
}

// The curves alone and beside a step that shows next to nothing: the pair costs no more than the
// curve, and δ no more than a wider ε.
TEST(CurvesBesidePairs, TheirPairAnswersAsTheCurveDoes) {
  for (const double rho : {1e-6, 0.01, 1.0, 20.0}) {
    for (const double delta : {1e-12, 1e-6, 0.01, 0.4}) {
      Composition curves, mixed;
      curves.curves.push_back({ZeroConcentrated{rho, 0}, 1});
      mixed = curves;
      const Pair hardly = EpsilonDeltaPair(1e-9, 0, Bound::kUpper);
      mixed.pairs.push_back({hardly, hardly, std::nullopt, 1});
      const auto by_curve = ComputeEpsilon(curves, delta, {.method = Method::kRdp});
      const auto by_pair = ComputeEpsilon(mixed, delta, {.method = Method::kPld});
      ASSERT_TRUE(by_curve.ok() && by_pair.ok()) << by_pair.status();
      EXPECT_LE(by_pair->value.upper(), by_curve->value.upper() * 1.001 + 2e-9)
          << rho << " " << delta;
      const auto back = ComputeDelta(mixed, by_pair->value.upper(), {.method = Method::kPld});
      ASSERT_TRUE(back.ok()) << back.status();
      if (by_pair->value.upper() > 0) {
        EXPECT_NEAR(back->value.upper() / delta, 1, 0.01) << rho << " " << delta;
      }
    }
  }
}

// What fails is apart: infinite in the pair, and not counted twice.
TEST(CurvesBesidePairs, FailuresAddUp) {
  Composition run;
  const Pair upper = EpsilonDeltaPair(0.1, 1e-7, Bound::kUpper);
  run.pairs.push_back({upper, upper, std::nullopt, 1});
  Composition composition = run, searched = run;
  // A run that is known by a curve alone, so that the search is too.
  searched.curves.push_back({ZeroConcentrated{1e-4, 0}, 1});
  composition.curves.push_back({BestOf{std::make_shared<const Composition>(searched), 1, 5}, 1});
  // 6 times 1e-7 fails at most; below that there is no ε.
  EXPECT_TRUE(std::isinf(Best(composition, 5.9e-7).value.upper()));
  EXPECT_LT(Best(composition, 1e-6).value.upper(), 1.2);
}

}  // namespace
}  // namespace dpledger::accountant
