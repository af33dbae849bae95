#include "accountant/filter/filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "accountant/accountant.h"
#include "accountant/numeric/normal.h"
#include "accountant/rdp/rdp.h"
#include "base/status.h"

namespace dpledger::accountant::filter {
namespace {

using ::testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Composition Gaussians(double q, double z, uint64_t count) {
  Composition composition;
  composition.steps.push_back({q, {z, z}, count});
  return composition;
}

Composition Of(Pair pair, uint64_t count, std::optional<RenyiBound> renyi = std::nullopt) {
  Composition composition;
  composition.pairs.push_back({pair, pair, std::move(renyi), count});
  return composition;
}

Composition Of(RenyiBound bound) {
  Composition composition;
  composition.curves.push_back({std::move(bound), 1});
  return composition;
}

Pair Coin(double epsilon) {
  const double top = 1 / (1 + std::exp(-epsilon)), bottom = 1 / (1 + std::exp(epsilon));
  return {{{top, bottom}, {bottom, top}}, {}, 0, true};
}

TEST(Spending, GaussiansSampledOrNot) {
  EXPECT_NEAR(*Spent(ZcdpFilter{1}, Gaussians(1, 2, 3), {}), 3 / 8.0, 1e-15);
  EXPECT_NEAR(*Spent(ZcdpFilter{1}, Gaussians(0.01, 2, 3), {}), 3 / 8.0, 1e-15);
  EXPECT_NEAR(*Spent(GdpFilter{1}, Gaussians(0.01, 2, 9), {}), 1.5, 1e-14);
  // Only RDP is amplified by sampling.
  const double order = 4;
  EXPECT_NEAR(*Spent(RdpFilter{order, 1}, Gaussians(1, 2, 3), {}), 3 * order / 8, 1e-14);
  EXPECT_EQ(*Spent(RdpFilter{order, 1}, Gaussians(0.01, 2, 3), {}),
            rdp::CurveOf(Gaussians(0.01, 2, 3)).curve(order));
  EXPECT_LT(*Spent(RdpFilter{order, 1}, Gaussians(0.01, 2, 3), {}), 1e-3);
}

TEST(Spending, NothingAndEverything) {
  for (const Filter& filter :
       {Filter(RdpFilter{2, 1}), Filter(ZcdpFilter{1}), Filter(GdpFilter{1})}) {
    EXPECT_EQ(*Spent(filter, Composition(), {}), 0);
    Composition open;
    open.non_private = true;
    EXPECT_EQ(*Spent(filter, open, {}), kInfinity);
    EXPECT_TRUE(Crossed(filter, kInfinity));
    EXPECT_TRUE(Crossed(filter, std::nan("")));
  }
}

TEST(Spending, PureMechanismsHaveAMeasureInEach) {
  EXPECT_NEAR(*Spent(ZcdpFilter{1}, Of(Coin(0.5), 4), {}), 4 * 0.125, 1e-14);
  const double mu = GaussianOfPure(0.5);
  EXPECT_NEAR(*Spent(GdpFilter{1}, Of(Coin(0.5), 4), {}), 2 * mu, 1e-14);
  // A tighter curve is used where there is one: a range of ε is ε²/8.
  EXPECT_NEAR(*Spent(ZcdpFilter{1}, Of(Coin(0.5), 4, BoundedRange{0.5}), {}), 4 * 0.03125, 1e-14);
  // Laplace between the centres: the loss runs from -1 to 1.
  const double half = std::log(0.5);
  const Pair laplace{{{0.5, 0.5 * std::exp(-1)}, {0.5 * std::exp(-1), 0.5}},
                     {{0, 1, -1, 0, 0, {{half, 1}}, {{half + 1, -1}}}},
                     0,
                     true};
  EXPECT_NEAR(*Spent(ZcdpFilter{1}, Of(laplace, 1), {}), 0.5, 1e-13);
}

TEST(Spending, GivenCurvesInTheirOwnTerms) {
  EXPECT_NEAR(*Spent(ZcdpFilter{1}, Of(ZeroConcentrated{0.25, 0}), {}), 0.25, 1e-15);
  EXPECT_NEAR(*Spent(RdpFilter{3, 1}, Of(ZeroConcentrated{0.25, 0.1}), {}), 0.85, 1e-14);
}

// The tails of a discrete Gaussian are told as infinite losses of a mass that no double adds to
// one.
TEST(Spending, ADiscreteGaussianOfOneDimensionByItsCurve) {
  const auto of = [](auto... kinds) {
    History history;
    (history.Add("w", Mechanism{3, kinds}), ...);
    return *Resolve(history, Adjacency::kAddOrRemoveOne);
  };
  const Composition one = of(DiscreteGaussian{8, 1, 1});
  ASSERT_GT(rdp::CurveOf(one).failure, 0);
  EXPECT_NEAR(*Spent(ZcdpFilter{1}, one, {}), 3 / 128., 1e-15);
  EXPECT_NEAR(*Spent(RdpFilter{4, 1}, one, {}), 3 * 4 / 128., 1e-15);
  // On a sample, and in a search, it has the curve of one of more dimensions.
  const Mechanism part{1, DiscreteGaussian{8, 1, 1}}, whole{1, DiscreteGaussian{8, 1}};
  const auto spent = [](const Composition& run) {
    const auto sum = Spent(RdpFilter{4, 9}, run, {});
    EXPECT_TRUE(sum.ok()) << sum.status();
    return sum.value_or(0);
  };
  EXPECT_NEAR(spent(of(PoissonSampled{.1, {part}})), spent(of(PoissonSampled{.1, {whole}})), 1e-15);
  EXPECT_NEAR(spent(of(RepeatAndSelect{{part}, 10, 1})), spent(of(RepeatAndSelect{{whole}, 10, 1})),
              1e-12);
}

// What has no measure is refused by name, never counted as nothing.
TEST(Spending, WhatCannotBeCountedIsRefused) {
  const Pair wide{
      {},
      {{-kInfinity, kInfinity, 0, 0, -0.5, {{-1.4189385332046727, 1}}, {{-0.9189385332046727, 0}}}},
      0,
      true};
  const Pair failing{{{0.999, 0.999}, {0.001, 0}, {0, 0.001}}, {}, 0, true};
  struct Case {
    Filter filter;
    Composition composition;
    const char* why;
  };
  const Case cases[] = {
      {ZcdpFilter{1}, Of(wide, 1), "neither Gaussian nor pure"},
      {GdpFilter{1}, Of(wide, 1), "neither Gaussian nor pure"},
      {ZcdpFilter{1}, Of(failing, 1), "neither Gaussian nor pure"},
      {RdpFilter{2, 1}, Of(failing, 1), "may fail with a probability delta"},
      {ZcdpFilter{1}, Of(ZeroConcentrated{0.25, 0.1}), "filter's own terms"},
      {GdpFilter{1}, Of(ZeroConcentrated{0.25, 0}), "filter's own terms"},
      {ZcdpFilter{1}, Of(OrdersCurve{{2}, {1}}), "filter's own terms"},
      {RdpFilter{3, 1}, Of(OrdersCurve{{2}, {1}}), "no finite Rényi divergence"},
  };
  for (const Case& c : cases) {
    const auto spent = Spent(c.filter, c.composition, {});
    EXPECT_EQ(spent.status().code(), absl::StatusCode::kFailedPrecondition) << c.why;
    EXPECT_THAT(std::string(spent.status().message()), HasSubstr(c.why));
    EXPECT_EQ(ReasonOf(spent.status()).reason, "FILTER_CANNOT_COUNT");
  }
}

// The trade-off function of a coin has its corner at (a, a), a = 1/(1 + e^ε): G_μ passes through.
TEST(GaussianOfPureDp, PassesThroughTheCornerOfTheCoin) {
  for (const double epsilon : {1e-6, 0.1, 1.0, 5.0, 50.0, 600.0}) {
    const double mu = GaussianOfPure(epsilon);
    const double log_a = -(epsilon + std::log1p(std::exp(-epsilon)));
    EXPECT_LE(LogNormalTail(mu / 2), log_a + 1e-13 * (1 + std::fabs(log_a))) << epsilon;
    EXPECT_NEAR(LogNormalTail(mu / 2), log_a, 1e-12 * (1 + std::fabs(log_a))) << epsilon;
  }
  EXPECT_EQ(GaussianOfPure(0), 0);
}

TEST(Bound, OfRdpIsItsOneOrder) {
  const auto epsilon = EpsilonOf(RdpFilter{8, 1}, 1e-5, {});
  EXPECT_EQ(epsilon->method, Method::kRdp);
  EXPECT_EQ(epsilon->value.lower(), 0);
  // Canonne, Kamath, Steinke 2020, prop. 12, is above it by little.
  const double pointwise = 1 + std::log1p(-1 / 8.0) - (std::log(1e-5) + std::log(8)) / 7;
  EXPECT_LT(epsilon->value.upper(), pointwise + 1e-8);
  EXPECT_GT(epsilon->value.upper(), pointwise - 1e-3);
  EXPECT_NEAR(DeltaOf(RdpFilter{8, 1}, epsilon->value.upper(), {})->value.upper() / 1e-5, 1, 1e-6);
}

TEST(Bound, OfZcdpIsItsBestOrder) {
  EXPECT_NEAR(EpsilonOf(ZcdpFilter{0.81}, 1e-10, {})->value.upper(), 8.92, 0.005);
}

TEST(Bound, OfGdpIsTheGaussianMechanism) {
  const auto delta = DeltaOf(GdpFilter{1}, 1, {});
  // Balle and Wang 2018; the allowance of 1e-9 is inside.
  EXPECT_TRUE(delta->value.Contains(0.126936737506644));
  EXPECT_NEAR(delta->value.upper(), 0.126936737506644, 1e-9);
  EXPECT_EQ(delta->method, Method::kGaussian);
}

TEST(Bound, OfSeveralLedgersIsTheirSum) {
  EXPECT_NEAR(BoundOf(*Compose({GdpFilter{3}, GdpFilter{4}})), 5, 1e-14);
  EXPECT_NEAR(BoundOf(*Compose({ZcdpFilter{3}, ZcdpFilter{4}, ZcdpFilter{1}})), 8, 1e-14);
  EXPECT_NEAR(BoundOf(*Compose({RdpFilter{2, 3}, RdpFilter{2, 4}})), 7, 1e-14);
  for (const auto& refused :
       {Compose({RdpFilter{2, 3}, RdpFilter{3, 4}}), Compose({ZcdpFilter{1}, GdpFilter{1}})}) {
    EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(ReasonOf(refused.status()).reason, "FILTERS_DIFFER");
  }
}

TEST(Bound, CanBeFilledToTheBrim) {
  EXPECT_FALSE(Crossed(ZcdpFilter{1}, *Spent(ZcdpFilter{1}, Gaussians(1, 1, 2), {})));
  EXPECT_TRUE(Crossed(ZcdpFilter{1}, *Spent(ZcdpFilter{1}, Gaussians(1, 1, 3), {})));
  EXPECT_FALSE(Crossed(GdpFilter{0.3}, *Spent(GdpFilter{0.3}, Gaussians(1, 10, 9), {})));
  EXPECT_TRUE(Crossed(GdpFilter{0.3}, *Spent(GdpFilter{0.3}, Gaussians(1, 10, 10), {})));
}

// An odometer would report the path that happened; the declared bound is what holds.
TEST(Bound, IsAboveWhatAnyPathWithinItCosts) {
  const Composition path = Gaussians(1, 1, 2);
  const double spent_alone = ComputeEpsilon(path, 1e-5, {})->value.upper();
  EXPECT_GT(EpsilonOf(ZcdpFilter{1}, 1e-5, {})->value.upper(), spent_alone);
  EXPECT_GE(EpsilonOf(GdpFilter{std::sqrt(2.0) + 1e-15}, 1e-5, {})->value.upper(), spent_alone);
  const double order = 5;
  EXPECT_GT(EpsilonOf(RdpFilter{order, order}, 1e-5, {})->value.upper(), spent_alone);
}

}  // namespace
}  // namespace dpledger::accountant::filter
