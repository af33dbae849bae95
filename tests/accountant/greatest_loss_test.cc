// ε at δ = 0 against closed forms, and δ from there on.
#include "accountant/mechanism/greatest_loss.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "accountant/accountant.h"
#include "accountant/event/event.h"
#include "accountant/mechanism/history.h"

namespace dpledger::accountant {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <typename... Kinds>
std::vector<Mechanism> Tree(Kinds... kinds) {
  return {Mechanism{1, std::move(kinds)}...};
}

template <typename... Kinds>
Composition Under(Adjacency adjacency, Kinds... kinds) {
  History history;
  for (const Mechanism& mechanism : Tree(std::move(kinds)...)) history.Add("", mechanism);
  return *Resolve(history, adjacency);
}

template <typename... Kinds>
Composition Of(Kinds... kinds) {
  return Under(Adjacency::kAddOrRemoveOne, std::move(kinds)...);
}

struct Case {
  std::string name;
  Composition composition;
  double truth;
};

std::vector<Case> Bounded() {
  const double rr = std::log((0.7 + 0.1) / 0.1);
  return {
      {"Laplace", Of(Laplace{0.8}), 1.25},
      {"Laplace, replaced", Under(Adjacency::kReplaceOne, Laplace{0.8}), 2.5},
      {"discrete Laplace", Of(DiscreteLaplace{0.5, 3}), 1.5},
      {"discrete Laplace, replaced", Under(Adjacency::kReplaceOne, DiscreteLaplace{0.5, 3}), 3},
      {"randomized response", Under(Adjacency::kReplaceOne, RandomizedResponse{0.3, 3}), rr},
      {"exponential mechanism", Of(ExponentialMechanism{0.7}), 0.7},
      {"pure", Of(EpsilonDelta{0.9, 0}), 0.9},
      {"sampled Laplace", Of(PoissonSampled{0.25, Tree(Laplace{1})}),
       std::log1p(0.25 * std::expm1(1.0))},
      {"many",
       Of(SelfComposed{Tree(Laplace{2}), 1000}, EpsilonDelta{0.25, 0}, ExponentialMechanism{2},
          DiscreteLaplace{0.125, 2}),
       500 + 0.25 + 2 + 0.25},
  };
}

TEST(GreatestLoss, IsEpsilonAtDeltaZero) {
  for (const Case& one : Bounded()) {
    const auto answer = ComputeEpsilon(one.composition, 0, {});
    ASSERT_TRUE(answer.ok()) << one.name << answer.status();
    const double slack = 4 * 0x1p-53 * one.truth;  // of the closed form
    EXPECT_GE(one.truth + slack, answer->value.lower()) << one.name;
    EXPECT_LE(one.truth - slack, answer->value.upper()) << one.name;
    EXPECT_NEAR(answer->value.upper(), one.truth, 1e-13 * one.truth) << one.name;
    // Lower bounds of selections are those of two candidates.
    if (one.name != "exponential mechanism" && one.name != "many") {
      EXPECT_NEAR(answer->value.lower(), one.truth, 1e-13 * one.truth) << one.name;
    }
  }
}

// Control: just below, δ is not 0.
TEST(GreatestLoss, IsWhereDeltaFallsToZero) {
  for (const Case& one : Bounded()) {
    const double upper = ComputeEpsilon(one.composition, 0, {})->value.upper();
    for (const double at : {upper, upper + 1, 1e6}) {
      const auto answer = ComputeDelta(one.composition, at, {});
      ASSERT_TRUE(answer.ok()) << one.name << answer.status();
      EXPECT_EQ(answer->value.upper(), 0) << one.name;
    }
    if (one.name == "many") continue;  // its δ is below any double there
    EXPECT_GT(ComputeDelta(one.composition, 0.99 * upper, {})->value.upper(), 1e-9) << one.name;
  }
  // In closed form: 1 - e^{(ε - d)/2}.
  const Interval near = ComputeDelta(Of(Laplace{1}), 0.999, {})->value;
  EXPECT_GT(near.lower(), 0);
  EXPECT_NEAR(near.upper(), -std::expm1(-0.0005), 1e-7);
}

TEST(GreatestLoss, BoundsEpsilonAtEveryDelta) {
  for (const Case& one : Bounded()) {
    const double upper = ComputeEpsilon(one.composition, 0, {})->value.upper();
    for (const double delta : {1e-300, 1e-12, 0.1}) {
      const auto answer = ComputeEpsilon(one.composition, delta, {});
      ASSERT_TRUE(answer.ok()) << one.name << answer.status();
      EXPECT_LE(answer->value.upper(), upper) << one.name;
      EXPECT_LE(answer->value.lower(), answer->value.upper()) << one.name;
    }
  }
}

TEST(GreatestLoss, IsInfiniteWhereTailsAre) {
  for (const Composition& composition :
       {Of(Gaussian{1}), Of(PoissonSampled{0.1, Tree(Gaussian{5})}), Of(Laplace{1}, Gaussian{100}),
        Of(EpsilonDelta{1, 1e-9})}) {
    const auto answer = ComputeEpsilon(composition, 0, {});
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_EQ(answer->value.lower(), kInfinity);
    EXPECT_EQ(answer->value.upper(), kInfinity);
    EXPECT_THAT(answer->warnings, ::testing::IsEmpty());
  }
  // Its support is infinite; the pair below ends where doubles do.
  const Interval discrete = ComputeEpsilon(Of(DiscreteGaussian{1, 1, 1}), 0, {})->value;
  EXPECT_EQ(discrete.upper(), kInfinity);
  EXPECT_GT(discrete.lower(), 30);
}

// One that is only sometimes in cannot be shown to be out by more than log 1/(1-q) a round.
TEST(GreatestLoss, OfASampleIsBoundedInOneDirection) {
  const Composition rounds = Of(SelfComposed{Tree(PoissonSampled{0.25, Tree(Gaussian{1})}), 10});
  const Interval add = ComputeEpsilon(rounds, 0, {}, Direction::kAdd)->value;
  EXPECT_NEAR(add.lower(), 10 * std::log(4.0 / 3), 1e-13);
  EXPECT_NEAR(add.upper(), 10 * std::log(4.0 / 3), 1e-13);
  EXPECT_LT(add.lower(), add.upper());
  EXPECT_EQ(ComputeDelta(rounds, add.upper(), {}, Direction::kAdd)->value.upper(), 0);
  EXPECT_EQ(ComputeEpsilon(rounds, 0, {}, Direction::kRemove)->value.lower(), kInfinity);
}

TEST(GreatestLoss, OfCurvesIsAnUpperBound) {
  const Composition curve = Of(ZCDp{0, 0.5}, Laplace{1});
  const auto answer = ComputeEpsilon(curve, 0, {});
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_NEAR(answer->value.upper(), 1.5, 1e-13);
  EXPECT_NEAR(answer->value.lower(), 1, 1e-13);
  EXPECT_EQ(ComputeEpsilon(Of(ZCDp{0.1, 0}), 0, {})->value.upper(), kInfinity);
}

TEST(GreatestLoss, ByAMethodThatDoesNotApplyIsRefused) {
  EXPECT_EQ(ComputeEpsilon(Of(Laplace{1}), 0, {.method = Method::kGaussian}).status().code(),
            absl::StatusCode::kFailedPrecondition);
  const auto rdp = ComputeEpsilon(Of(Laplace{1}), 0, {.method = Method::kRdp});
  EXPECT_EQ(rdp->value.lower(), 0);
  EXPECT_NEAR(rdp->value.upper(), 1, 1e-13);
}

// The worst mechanism of (ε0, δ0) by its four outcomes: H_ε = Σ max(0, p - e^ε q).
double WorstDelta(double epsilon0, double delta0, double epsilon) {
  const long double rest = 1 - static_cast<long double>(delta0);
  const long double greater = rest / (1 + std::exp(-static_cast<long double>(epsilon0)));
  const long double less = greater * std::exp(-static_cast<long double>(epsilon0));
  const long double factor = std::exp(static_cast<long double>(epsilon));
  return static_cast<double>(delta0 + std::max(0.0L, greater - factor * less) +
                             std::max(0.0L, less - factor * greater));
}

// Asked at its own δ, such an event was answered [0, infinity].
TEST(Stated, AtItsOwnDeltaIsItsOwnEpsilon) {
  for (const double delta0 : {1e-6, 0.1, 5e-324, 0.3, 1e-300}) {
    for (const double epsilon0 : {0.0, 1e-9, 1.0, 40.0, 900.0}) {
      SCOPED_TRACE(::testing::Message() << epsilon0 << " " << delta0);
      const Composition stated = Of(EpsilonDelta{epsilon0, delta0});
      const Interval own = ComputeEpsilon(stated, delta0, {})->value;
      EXPECT_EQ(own.lower(), epsilon0);
      EXPECT_EQ(own.upper(), epsilon0);
      EXPECT_EQ(ComputeDelta(stated, epsilon0, {})->value.upper(), delta0);
      const double below = std::nextafter(delta0, 0.0);
      if (below > 0) {
        EXPECT_EQ(ComputeEpsilon(stated, below, {})->value.lower(), kInfinity);
      }
    }
  }
}

TEST(Stated, MeetsTheOutcomesOfTheWorstMechanism) {
  for (const double epsilon0 : {0.25, 1.0, 8.0}) {
    for (const double delta0 : {1e-9, 1e-3, 0.2}) {
      const Composition stated = Of(EpsilonDelta{epsilon0, delta0});
      for (const double share : {0.0, 0.2, 0.5, 0.9, 0.999}) {
        const double epsilon = share * epsilon0;
        const double truth = WorstDelta(epsilon0, delta0, epsilon);
        const Interval delta = ComputeDelta(stated, epsilon, {})->value;
        EXPECT_TRUE(delta.Contains(truth)) << delta.lower() << " " << truth << " " << delta.upper();
        EXPECT_LE(delta.RelativeGap(), 1e-13);
        const Interval back = ComputeEpsilon(stated, truth, {})->value;
        EXPECT_NEAR(back.lower(), epsilon, 1e-9);
        EXPECT_NEAR(back.upper(), epsilon, 1e-9);
      }
    }
  }
}

// What is given away together, and losses that end: ε is no more than their sum.
TEST(Stated, BesideOthersThatEndIsFiniteFromItsMassOn) {
  const Composition two = Of(SelfComposed{Tree(EpsilonDelta{1, 1e-6}), 2});
  const double mass = 2e-6 - 1e-12;
  EXPECT_LE(ComputeEpsilon(two, mass * (1 + 1e-9), {})->value.upper(), 2 * (1 + 1e-12));
  EXPECT_EQ(ComputeEpsilon(two, mass * (1 - 1e-9), {})->value.upper(), kInfinity);
  const Composition beside = Of(EpsilonDelta{1, 1e-6}, Laplace{2});
  EXPECT_LE(ComputeEpsilon(beside, 1e-6, {})->value.upper(), 1.5 * (1 + 1e-12));
  EXPECT_EQ(ComputeEpsilon(beside, std::nextafter(1e-6, 0.0), {})->value.upper(), kInfinity);
  // The control: a loss without end.
  EXPECT_EQ(ComputeEpsilon(Of(EpsilonDelta{1, 1e-6}, Gaussian{2}), 1e-6, {})->value.upper(),
            kInfinity);
}

}  // namespace
}  // namespace dpledger::accountant
