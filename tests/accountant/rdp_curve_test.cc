// Rényi curves of everything but sampled Gaussians, and the conversions.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "accountant/pld/pld.h"
#include "accountant/rdp/allocated_gaussian.h"
#include "accountant/rdp/conversion.h"
#include "accountant/rdp/pair_moment.h"
#include "accountant/rdp/rdp.h"
#include "accountant/rdp/renyi_bound.h"
#include "tests/support/json_file.h"

namespace dpledger::accountant {
namespace {

using ::dpledger::testing::ListAt;
using ::dpledger::testing::NumberAt;
using ::dpledger::testing::ReadJsonFile;
using ::dpledger::testing::StringAt;
using google::protobuf::Struct;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<ExponentialTerm> TermsOf(const Struct& piece, const char* side) {
  std::vector<ExponentialTerm> terms;
  for (const auto& term : ListAt(piece, side)) {
    terms.push_back(
        {NumberAt(term.struct_value(), "log_coefficient"), NumberAt(term.struct_value(), "rate")});
  }
  return terms;
}

Pair PairOf(const Struct& c) {
  Pair pair;
  for (const auto& atom : ListAt(c, "atoms")) {
    pair.atoms.push_back({NumberAt(atom.struct_value(), "p"), NumberAt(atom.struct_value(), "q")});
  }
  for (const auto& value : ListAt(c, "pieces")) {
    const Struct& piece = value.struct_value();
    const auto end = [&piece](const char* name, double otherwise) {
      return piece.fields().count(name) > 0 ? NumberAt(piece, name) : otherwise;
    };
    pair.pieces.push_back({end("from", -kInfinity), end("to", kInfinity),
                           NumberAt(piece, "constant"), NumberAt(piece, "linear"),
                           NumberAt(piece, "quadratic"), TermsOf(piece, "p"), TermsOf(piece, "q")});
  }
  return pair;
}

Pair RandomizedResponse(double epsilon, double delta) {
  const double top = (1 - delta) / (1 + std::exp(-epsilon)),
               bottom = (1 - delta) / (1 + std::exp(epsilon));
  Pair pair{{{top, bottom}, {bottom, top}}, {}, 4e-16, true};
  if (delta > 0) {
    pair.atoms.push_back({delta, 0});
    pair.atoms.push_back({0, delta});
  }
  return pair;
}

Pair Laplace(double epsilon) {
  const double half = std::log(0.5);
  return {{{0.5, 0.5 * std::exp(-epsilon)}, {0.5 * std::exp(-epsilon), 0.5}},
          {{0,
            1,
            -epsilon,
            0,
            0,
            {{half + std::log(epsilon), epsilon}},
            {{half + std::log(epsilon) + epsilon, -epsilon}}}},
          0,
          true};
}

Composition OfPair(Pair pair, uint64_t count) {
  Composition composition;
  composition.pairs.push_back({pair, pair, std::nullopt, count});
  return composition;
}

Composition OfCurve(RenyiBound bound, uint64_t count) {
  Composition composition;
  composition.curves.push_back({std::move(bound), count});
  return composition;
}

double EpsilonOf(const Composition& composition, double delta) {
  return rdp::EpsilonFromCurve(rdp::CurveOf(composition), delta, {})->value;
}

TEST(PairMoment, IsAnUpperBoundCloseToTheOracleInBothDirections) {
  const auto oracle = ReadJsonFile("tests/data/renyi_oracle.json");
  ASSERT_GE(ListAt(oracle, "pair_moment").size(), 60);
  for (const auto& value : ListAt(oracle, "pair_moment")) {
    const Struct& c = value.struct_value();
    const Pair pair = PairOf(c.fields().at("pair").struct_value());
    const double order = NumberAt(c, "order");
    for (const Direction direction : {Direction::kRemove, Direction::kAdd}) {
      const double exact = NumberAt(c, direction == Direction::kRemove ? "remove" : "add");
      const double found = rdp::PairMoments(pair).LogMomentUp(direction, order);
      const std::string at = StringAt(c, "name") + " " + std::to_string(order) +
                             (direction == Direction::kRemove ? " remove" : " add");
      // The oracle's values are rounded to doubles.
      EXPECT_GE(found, exact - 1e-16 * std::fabs(exact)) << at;
      EXPECT_LE(found, exact + 1e-11 + 1e-12 * std::fabs(exact)) << at;
    }
  }
}

TEST(PairMoment, OfLaplaceIsItsClosedForm) {
  for (const double epsilon : {0.01, 0.5, 1.0, 8.0, 60.0}) {
    for (const double a : {1.01, 2.0, 17.5, 1000.0, 1e6}) {
      // Mironov 2017, table II.
      const double exact =
          epsilon + std::log1p((a - 1) * std::expm1((1 - 2 * a) * epsilon) / (2 * a - 1)) / (a - 1);
      const double found =
          rdp::PairMoments(Laplace(epsilon)).LogMomentUp(Direction::kRemove, a) / (a - 1);
      EXPECT_NEAR(found, exact, 1e-12 * epsilon * a / (a - 1) + 1e-11) << epsilon << " " << a;
      EXPECT_GE(found, exact - 1e-15 * epsilon) << epsilon << " " << a;
    }
  }
}

TEST(PairMoment, CarriesTheErrorOfTheStatedMasses) {
  Pair pair = RandomizedResponse(1, 0);
  pair.relative_error = 0;
  const double stated = rdp::PairMoments(pair).LogMomentUp(Direction::kRemove, 3);
  pair.relative_error = 1e-3;
  EXPECT_GE(rdp::PairMoments(pair).LogMomentUp(Direction::kRemove, 3), stated + 5e-3);
}

TEST(BoundedRangeCurve, IsTheOraclesMaximum) {
  const auto oracle = ReadJsonFile("tests/data/renyi_oracle.json");
  for (const auto& value : ListAt(oracle, "bounded_range")) {
    const Struct& c = value.struct_value();
    const double exact = NumberAt(c, "divergence");
    const double found =
        rdp::Divergence(BoundedRange{NumberAt(c, "epsilon")}, NumberAt(c, "order"));
    EXPECT_GE(found, exact * (1 - 1e-15)) << value.DebugString();
    EXPECT_LE(found, exact * (1 + 1e-6)) << value.DebugString();
  }
  // The limit at order one is the Kullback-Leibler divergence that a published test has.
  EXPECT_NEAR(rdp::Divergence(BoundedRange{1}, 1 + 1e-7), 0.123301561, 1e-7);
}

TEST(OrdersCurveBound, IsLinearInTheMomentBetweenItsOrders) {
  const OrdersCurve curve{{2, 4, 8}, {1, 2, 5}};
  EXPECT_NEAR(rdp::Divergence(curve, 1.5), 1, 1e-15);
  EXPECT_NEAR(rdp::Divergence(curve, 3), (1 * 1 + 3 * 2) / 2.0 / 2, 1e-14);
  EXPECT_GE(rdp::Divergence(curve, 3), 1.75);
  EXPECT_EQ(rdp::Divergence(curve, 8), 5);
  EXPECT_EQ(rdp::Divergence(curve, std::nextafter(8.0, 9.0)), kInfinity);
  // A later order with less divergence bounds the earlier ones.
  EXPECT_EQ(rdp::Divergence(OrdersCurve{{2, 4}, {3, 1}}, 2), 1);
}

// A published test: pure RDP 1.1 at the orders 2 to 32 gives this ε at δ = 1e-5.
TEST(OrdersCurveBound, EndsAtItsLastOrder) {
  OrdersCurve curve;
  for (int order = 2; order <= 32; ++order) {
    curve.orders.push_back(order);
    curve.epsilons.push_back(1.1);
  }
  const auto epsilon = rdp::EpsilonFromCurve(rdp::CurveOf(OfCurve(curve, 1)), 1e-5, {});
  EXPECT_EQ(epsilon->order, 32);
  EXPECT_LE(epsilon->value, 1.32783806176);
  EXPECT_GE(epsilon->value, 1.3278);
}

// The other library ignores the count and answers 0.5035 for ten.
TEST(CurveOf, ExponentialMechanismsAddUp) {
  const double ten = EpsilonOf(OfCurve(BoundedRange{0.5}, 10), 1e-5);
  EXPECT_LE(ten, 3.6160);
  EXPECT_GT(ten, 3.33);  // the oracle's divergences, converted: 3.3358
}

TEST(CurveOf, TakesWhatFailsOffTheTarget) {
  const Composition composition = OfPair(RandomizedResponse(1, 0.001), 30);
  const rdp::ApproximateCurve curve = rdp::CurveOf(composition);
  const double failure = -std::expm1(30 * std::log1p(-0.001));
  EXPECT_NEAR(curve.failure, failure, 1e-12);
  EXPECT_GE(curve.failure, failure);
  // The optimal composition theorem gives 22.
  EXPECT_GE(EpsilonOf(composition, 0.06), 22 - 1e-9);
  EXPECT_LE(EpsilonOf(composition, 0.06), 25);
  EXPECT_EQ(EpsilonOf(composition, 0.029), kInfinity) << "less than what fails";
  const auto delta = rdp::DeltaFromCurve(curve, 40, {});
  EXPECT_GE(delta->value, failure);
  EXPECT_NEAR(delta->value, failure, 1e-9);
}

TEST(CurveOf, PureDpIsNeverAboveItsEpsilonAndNeverBelowTheTruth) {
  for (const double epsilon : {0.01, 1.0, 20.0}) {
    const Composition composition = OfPair(RandomizedResponse(epsilon, 0), 1);
    const double delta = 1e-5;
    // δ(e) = (e^ε - e^e)/(1 + e^ε).
    const double exact = std::log(std::exp(epsilon) - delta * (1 + std::exp(epsilon)));
    const double found = EpsilonOf(composition, delta);
    EXPECT_GE(found, exact) << epsilon;
    EXPECT_LE(found, epsilon + 2e-5) << epsilon;
  }
}

TEST(CurveOf, DirectionsAreKeptApartToTheEnd) {
  // Each revealing in the other direction only; composed they cost less than twice the worse.
  const Pair one{{{0.5, 0.01}, {0.5, 0.99}}, {}, 0, false},
      other{{{0.01, 0.5}, {0.99, 0.5}}, {}, 0, false};
  Composition both;
  both.pairs = {{one, one, std::nullopt, 1}, {other, other, std::nullopt, 1}};
  const double order = 3;
  const double worst = rdp::CurveOf(OfPair(one, 2)).curve(order);
  EXPECT_LT(rdp::CurveOf(both).curve(order), 0.9 * worst);
  EXPECT_EQ(rdp::CurveOf(OfPair(one, 2)).curve(order), rdp::CurveOf(OfPair(other, 2)).curve(order));
}

TEST(CurveOf, PrefersATighterCurveThanThePairs) {
  Composition composition = OfPair(RandomizedResponse(1, 0), 1);
  const double of_pair = rdp::CurveOf(composition).curve(2);
  composition.pairs[0].renyi = BoundedRange{1};
  EXPECT_LT(rdp::CurveOf(composition).curve(2), of_pair);
  composition.pairs[0].renyi = ZeroConcentrated{10, 0};
  EXPECT_EQ(rdp::CurveOf(composition).curve(2), of_pair);
}

TEST(AllocatedMoments, OfSmallOrdersAreClosedForms) {
  for (const double mu : {0.01, 0.5, 2.0}) {
    for (const double t : {2.0, 7.0, 1000.0}) {
      const rdp::AllocatedGaussianMoments moments(static_cast<uint64_t>(t), mu);
      const double m2 = std::exp(mu * mu), m3 = std::exp(3 * mu * mu);
      const double second = std::log1p((m2 - 1) / t);
      // (t m₃ + 3t(t-1) m₂ + t(t-1)(t-2))/t³ = 1 + ((m₃ - 1) + 3(t-1)(m₂ - 1))/t².
      const double third = std::log1p(((m3 - 1) + 3 * (t - 1) * (m2 - 1)) / (t * t));
      EXPECT_GE(moments.Remove(2), second * (1 - 1e-9));
      EXPECT_NEAR(moments.Remove(2), second, 1e-10);
      EXPECT_NEAR(2 * moments.Remove(3), third, 1e-10);
      // Between the chord and the secant from order one: (α - 1)R is convex in α.
      EXPECT_LE(1.5 * moments.Remove(2.5), (second + third) / 2 + 1e-10);
      EXPECT_GE(1.5 * moments.Remove(2.5), 1.5 * second * (1 - 1e-9));
      EXPECT_LE(moments.Remove(5000), 2500 * mu * mu * (1 + 1e-15));
    }
  }
}

// Published bounds of one epoch by loss distributions, remove: [lower, upper] at δ = 1e-8.
TEST(CurveOf, AllocationIsAmplified) {
  struct Published {
    double z;
    uint64_t rounds;
    double lower, upper;
  };
  for (const Published& c : {Published{1, 8, 3.711, 3.726}, Published{1, 64, 1.792, 1.806},
                             Published{2, 64, 0.315, 0.345}, Published{1, 128, 1.253, 1.270}}) {
    Composition composition;
    composition.allocations.push_back({c.rounds, {c.z, c.z}, 1});
    const double epsilon = EpsilonOf(composition, 1e-8);
    EXPECT_GE(epsilon, c.lower) << c.z << " " << c.rounds;
    Composition unsampled;
    unsampled.steps.push_back({1, {c.z, c.z}, 1});
    EXPECT_LE(epsilon, 0.8 * EpsilonOf(unsampled, 1e-8)) << c.z << " " << c.rounds;
  }
}

// The other library swallows a NaN and answers 0.
TEST(CurveOf, AFreeMechanismHidesNoOther) {
  Composition composition = OfCurve(BoundedRange{0}, 1);
  composition.steps.push_back({1, {0.1, 0.1}, 1});
  EXPECT_LE(EpsilonOf(composition, 1e-5), 96.116);
  EXPECT_GT(EpsilonOf(composition, 1e-5), 90);
}

// Two engines that share only the pair.
TEST(CurveOf, IsAboveTheLossDistributionsLowerBound) {
  const auto mixture = [](double q, double mu) {
    return Pair{{},
                {{-kInfinity,
                  kInfinity,
                  -0.91893853320467274178,
                  0,
                  -0.5,
                  {{std::log1p(-q), 0}, {std::log(q) - mu * mu / 2, mu}},
                  {{0, 0}}}},
                1e-15,
                false};
  };
  const std::pair<Pair, uint64_t> cases[] = {{mixture(0.01, 1), 1000},
                                             {mixture(0.3, 2), 5},
                                             {Laplace(1), 20},
                                             {RandomizedResponse(0.1, 1e-7), 100}};
  for (const auto& [pair, count] : cases) {
    const Composition composition = OfPair(pair, count);
    const auto answer = pld::Epsilon(composition, 1e-4, 1e-3, {});
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_GT(answer->value.lower(), 0.1);
    EXPECT_GE(EpsilonOf(composition, 1e-4), answer->value.lower()) << count;
    EXPECT_LE(EpsilonOf(composition, 1e-4), 1.6 * answer->value.upper()) << count;
  }
}

TEST(CurveOf, NonPrivateIsInfinite) {
  Composition composition;
  composition.non_private = true;
  EXPECT_EQ(EpsilonOf(composition, 1e-5), kInfinity);
}

TEST(CurveOf, NothingCostsNothing) {
  EXPECT_EQ(EpsilonOf(Composition(), 1e-5), 0);
  EXPECT_EQ(EpsilonOf(OfPair(Pair::Nothing(), 1000), 1e-5), 0);
}

// The other library adds a run's δ once; on average a hundred runs can each fail.
TEST(CurveOf, TheBestOfManyRunsFailsAsOftenAsAnyOfThem) {
  auto run = std::make_shared<Composition>(OfPair(RandomizedResponse(0.1, 1e-6), 1));
  const rdp::ApproximateCurve curve = rdp::CurveOf(OfCurve(BestOf{run, 0, 100}, 1));
  EXPECT_NEAR(curve.failure, 1e-4, 1e-12);
  EXPECT_GE(curve.failure, 1e-4 * (1 - 1e-15));
  EXPECT_EQ(EpsilonOf(OfCurve(BestOf{run, 0, 100}, 1), 5e-5), kInfinity);
  const double epsilon = EpsilonOf(OfCurve(BestOf{run, 0, 100}, 1), 1e-3);
  EXPECT_GT(epsilon, 0.1);
  EXPECT_LT(epsilon, 0.5);
}

TEST(CurveOf, TheBestOfGeometricallyManyPureRunsIsAtMostThreeTimesTheCost) {
  auto run = std::make_shared<Composition>(OfPair(RandomizedResponse(0.5, 0), 1));
  const double epsilon = EpsilonOf(OfCurve(BestOf{run, 1, 20}, 1), 1e-9);
  EXPECT_LE(epsilon, 1.5 + 1e-3);
  EXPECT_GT(epsilon, 1);
  // Nested once more.
  auto outer = std::make_shared<Composition>(OfCurve(BestOf{run, 1, 20}, 1));
  const double nested = EpsilonOf(OfCurve(BestOf{outer, 1, 20}, 1), 1e-9);
  EXPECT_GT(nested, epsilon);
  EXPECT_LE(nested, 4.5 + 1e-3);
}

TEST(Conversion, IsAboveTheBestPossibleByLittleAndBelowThePointwiseBound) {
  const auto oracle = ReadJsonFile("tests/data/renyi_oracle.json");
  for (const auto& value : ListAt(oracle, "conversion")) {
    const Struct& c = value.struct_value();
    const double divergence = NumberAt(c, "divergence"), order = NumberAt(c, "order"),
                 epsilon = NumberAt(c, "epsilon"), best = NumberAt(c, "delta");
    const double delta = std::exp(rdp::LogDeltaAt(divergence, order, epsilon, 0));
    EXPECT_GE(delta, best * (1 - 1e-10)) << value.DebugString();
    EXPECT_LE(delta, best * (1 + 1e-6)) << value.DebugString();
    const double back = rdp::EpsilonAt(divergence, order, std::log(best), 0);
    EXPECT_GE(back, epsilon - 1e-10) << value.DebugString();
    EXPECT_LE(back, epsilon + 1e-6) << value.DebugString();
    // Canonne, Kamath, Steinke 2020, prop. 12: what the two-outcome pairs improve on.
    const double pointwise = std::exp((order - 1) * (divergence - epsilon) +
                                      order * std::log1p(-1 / order) - std::log(order - 1));
    EXPECT_LT(delta, pointwise * (best > 1e-100 ? 1 : 1 + 1e-10)) << value.DebugString();
  }
}

TEST(Conversion, ReachesTheSmallestDeltas) {
  Composition composition;
  composition.steps.push_back({1, {1, 1}, 1});
  // μ = 1: ε(1e-300) is 37.6 by the closed form (37.04 standard deviations and a half).
  const double epsilon = EpsilonOf(composition, 1e-300);
  EXPECT_GT(epsilon, 37.4);
  EXPECT_LT(epsilon, 38.2);
  const auto delta = rdp::DeltaFromCurve(rdp::CurveOf(composition), epsilon, {});
  EXPECT_NEAR(std::log(delta->value) / std::log(1e-300), 1, 1e-6);
}

// Published values of zCDP and of the Gaussian (with the pointwise conversion).
TEST(Conversion, ZeroConcentratedMatchesPublishedValues) {
  const double epsilon = EpsilonOf(OfCurve(ZeroConcentrated{0.81, 0}, 1), 1e-10);
  EXPECT_NEAR(epsilon, 8.92, 0.005);
  EXPECT_NEAR(EpsilonOf(OfCurve(ZeroConcentrated{0.5 / (4.530877117 * 4.530877117), 0}, 1), 1e-6),
              1, 1e-3);
}

// At small orders the other library's series does not converge, and it drops them: 44.80 and 346.
TEST(CurveOf, LargeSamplingProbabilitiesAreReachedAtSmallOrders) {
  Composition composition;
  composition.steps.push_back({0.5, {1, 1}, 100});
  EXPECT_NEAR(EpsilonOf(composition, 1e-5), 42.85, 0.01);
  composition.steps[0].count = 1000;
  EXPECT_NEAR(EpsilonOf(composition, 1e-5), 227.5, 0.1);
  composition.steps[0] = {0.1, {0.5, 0.5}, 1000};
  EXPECT_NEAR(EpsilonOf(composition, 1e-5), 134.8, 0.1);
}

}  // namespace
}  // namespace dpledger::accountant
