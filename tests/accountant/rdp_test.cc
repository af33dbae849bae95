#include "accountant/rdp/rdp.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "accountant/rdp/conversion.h"
#include "accountant/rdp/sampled_gaussian.h"
#include "tests/accountant/reference_steps.h"
#include "tests/support/json_file.h"

namespace dpledger::accountant {
namespace {

using ::dpledger::testing::ListAt;
using ::dpledger::testing::NumberAt;
using ::dpledger::testing::ReadJsonFile;
using ::dpledger::testing::StringAt;

TEST(RenyiMoment, IsAnUpperBoundCloseToTheOracle) {
  const auto oracle = ReadJsonFile("tests/data/accounting_oracle.json");
  ASSERT_GT(ListAt(oracle, "renyi_moment").size(), 100);
  for (const auto& value : ListAt(oracle, "renyi_moment")) {
    const auto& c = value.struct_value();
    const double exact = NumberAt(c, "log_moment");
    const double found =
        rdp::SampledGaussianMoments(NumberAt(c, "q"), 1 / NumberAt(c, "noise_multiplier"))
            .LogMomentUp(NumberAt(c, "order"));
    const std::string at = value.DebugString();
    // 1/z is itself rounded: the moment moves by at most a few u relatively.
    EXPECT_GE(found, exact * (1 - 2e-15)) << at;
    // Near order one the two halves of the moment cancel down to α - 1 of their size.
    EXPECT_LE(found, exact * (1 + (NumberAt(c, "order") < 1.1 ? 1e-7 : 1e-10))) << at;
  }
}

// A published library gives 6.7058e-4 / 50 for this order; 30-digit quadrature does not.
TEST(RenyiMoment, FractionalOrderBelowTwoIsNotThePublishedWrongValue) {
  EXPECT_NEAR(50 * rdp::SampledGaussianMoments(0.01, 1 / 2.5).LogMomentUp(1.5) / 0.5,
              6.50070897188e-4, 1e-14);
}

TEST(RenyiMoment, GrowsWithOrderSamplingAndLessNoise) {
  EXPECT_LT(rdp::SampledGaussianMoments(0.01, 1).LogMomentUp(2),
            rdp::SampledGaussianMoments(0.01, 1).LogMomentUp(2.1));
  EXPECT_LT(rdp::SampledGaussianMoments(0.01, 1).LogMomentUp(2),
            rdp::SampledGaussianMoments(0.011, 1).LogMomentUp(2));
  EXPECT_LT(rdp::SampledGaussianMoments(0.01, 1).LogMomentUp(2),
            rdp::SampledGaussianMoments(0.01, 1.1).LogMomentUp(2));
}

// Published divergences of 50 steps at q = 0.01, z = 2.5; the first three are 30-digit quadrature.
TEST(RenyiMoment, MatchesPublishedDivergences) {
  rdp::SampledGaussianMoments moments(0.01, 1 / 2.5);
  const std::pair<double, double> published[] = {{1.5, 6.50070897188e-4},
                                                 {2.5, 1.08541805692e-3},
                                                 {5, 2.18075656231e-3},
                                                 {50, 2.38460375e-2},
                                                 {100, 167.416308}};
  for (const auto& [order, divergence] : published) {
    EXPECT_NEAR(50 * moments.LogMomentUp(order) / (order - 1) / divergence, 1, 5e-9) << order;
  }
}

// What orders share does not change what one of them says, whichever came before.
TEST(RenyiMoment, IsTheSameInAnyOrderOfOrders) {
  rdp::SampledGaussianMoments up(0.02, 0.8), down(0.02, 0.8);
  std::vector<double> rising, falling;
  for (double order = 1.01; order < 2000; order *= 1.3) {
    rising.push_back(up.LogMomentUp(order));
    falling.push_back(order);
  }
  for (size_t i = falling.size(); i-- > 0;) {
    EXPECT_EQ(down.LogMomentUp(falling[i]), rising[i]) << falling[i];
    EXPECT_EQ(rdp::SampledGaussianMoments(0.02, 0.8).LogMomentUp(falling[i]), rising[i])
        << falling[i];
  }
}

// Where nodes give way to Minkowski's inequality the moment goes on without a step.
TEST(RenyiMoment, GreatOrdersGoOnSmoothly) {
  rdp::SampledGaussianMoments moments(0.01, 1);
  double before = moments.LogMomentUp(80);
  for (double order = 80.5; order < 120; order += 0.5) {
    const double at = moments.LogMomentUp(order);
    // α log q + α(α-1)/2 to ten digits here.
    EXPECT_NEAR(at / (order * std::log(0.01) + order * (order - 1) / 2), 1, 1e-9) << order;
    EXPECT_GT(at, before);
    before = at;
  }
  // Many nodes: an upper bound, finite.
  rdp::SampledGaussianMoments wide(0.01, 0.02);
  EXPECT_GE(wide.LogMomentUp(1e6), 1e6 * std::log(0.01) + 1e6 * (1e6 - 1) * 0.0002);
  EXPECT_TRUE(std::isfinite(wide.LogMomentUp(1e6)));
}

// The near-one and log-domain sums must agree where they meet.
TEST(RenyiMoment, BothSummationsMeet) {
  double before = 0;
  for (double q = 0.001; q < 1; q *= 1.05) {
    const double at = rdp::SampledGaussianMoments(q, 0.5).LogMomentUp(8);
    EXPECT_GT(at, before) << q;
    EXPECT_LT(before == 0 ? 1 : at / before, 1.2) << q;
    before = at;
  }
}

TEST(Rdp, EpsilonOfTheStandardRunIsBelowTheFixedGridOfOrders) {
  Composition composition;
  composition.steps.push_back({0.01, {1, 1}, 10000});
  const auto epsilon = rdp::EpsilonFromCurve(rdp::CurveOf(composition), 1e-5, {});
  ASSERT_TRUE(epsilon.ok());
  EXPECT_LE(epsilon->value, 6.712738297403128);  // Opacus 1.5.4, orders 1.1..63
  EXPECT_GE(epsilon->value, 6.187712389971539);  // the truth
  EXPECT_NEAR(epsilon->order, 4.135, 0.01);
}

TEST(Rdp, NeverAboveOtherLibrariesAndNeverBelowTheTruthTheyBound) {
  const auto peers = ReadJsonFile("tests/data/peer_epsilon.json");
  int compared = 0;
  for (const auto& value : ListAt(peers, "cases")) {
    const auto& c = value.struct_value();
    if (StringAt(c, "quantity") != "epsilon") continue;
    const Composition composition = StepsOf(c);
    const auto epsilon = rdp::EpsilonFromCurve(rdp::CurveOf(composition), NumberAt(c, "delta"), {});
    ASSERT_TRUE(epsilon.ok());
    if (StringAt(c, "accountant") == "rdp") {
      EXPECT_LE(epsilon->value, NumberAt(c, "value") * (1 + 1e-9)) << StringAt(c, "id");
      ++compared;
    } else if (StringAt(c, "accountant") == "prv") {
      EXPECT_GE(epsilon->value, NumberAt(c, "lower")) << StringAt(c, "id");
      ++compared;
    }
  }
  EXPECT_GT(compared, 50);
}

// Other libraries' RDP answers, by fixed orders and the pointwise conversion; never below the exact
// value where that is known.
TEST(Rdp, IsNotAbovePublishedValuesNorBelowTheTruth) {
  struct Published {
    double q, z;
    uint64_t steps;
    double delta, epsilon, least;
  };
  const Published cases[] = {
      {0.01, 0.7, 120, 1e-5, 3.2392676, 2.46123769},
      {0.01, 0.35, 120, 1e-5, 22.6248601, 18.6977},
      {0.04, 1.5, 2250, 1e-5, 7.32911117143, 6.76878039342},
      {0.01, 4, 10000, 1e-5, 1.03549001, 0.946866800764},
      {150 / 60000.0, 1.3, 6000, 1e-5, 0.7242234026, 0.6},
      {100 / 1e5, 1, 30000, 1e-7, 1.41549884954, 1.2},
      {1, 0.7, 2, 1e-5, 10.8602036, 10.1224},
      {0.005, 1, 200, 1e-6, 1.21730, 0.586785691},
      {0.005, 1, 20000, 1e-6, 4.95186, 4.610567230},
      // Two Gaussian mechanisms on one sample; counted as one they would give 7.904.
      {0.1, 0.70710678118654752, 100, 1e-5, 16.098, 14},
  };
  for (const Published& c : cases) {
    Composition composition;
    composition.steps.push_back({c.q, {c.z, c.z}, c.steps});
    const double epsilon = rdp::EpsilonFromCurve(rdp::CurveOf(composition), c.delta, {})->value;
    EXPECT_LE(epsilon, c.epsilon * (1 + 1e-4)) << c.q << " " << c.z;
    EXPECT_GE(epsilon, c.least) << c.q << " " << c.z;
    EXPECT_GE(epsilon, 0.93 * c.epsilon) << c.q << " " << c.z;
  }
}

TEST(Rdp, DeltaAndEpsilonConvertIntoEachOther) {
  Composition composition;
  composition.steps.push_back({0.02, {1.1, 1.1}, 500});
  const rdp::ApproximateCurve curve = rdp::CurveOf(composition);
  const auto epsilon = rdp::EpsilonFromCurve(curve, 1e-6, {});
  const auto delta = rdp::DeltaFromCurve(curve, epsilon->value, {});
  EXPECT_NEAR(delta->value / 1e-6, 1, 1e-6);
}

// Of all pairs of one divergence and one δ, a pair of two points whose ratios meet the equation
// below has the greatest ε (Asoodeh et al. 2020): the bound is its own ε. At these orders and δ its
// lower ratio is far from one, and what is searched.
TEST(Conversion, IsTheEpsilonOfTheWorstPair) {
  int far = 0;
  for (const long double order : {1.05L, 1.5L, 2.0L, 5.0L, 30.0L}) {
    for (const long double q : {0.001L, 0.03L, 0.2L, 0.5L}) {
      for (const long double above : {1.01L, 1.2L, 1.8L, 4.0L}) {
        const long double p = q * above, low = (1 - p) / (1 - q);
        if (!(p < 0.95L)) continue;
        const long double ratio = (order - 1) * (std::pow(above, order) - std::pow(low, order)) /
                                  (order * (std::pow(above, order - 1) - std::pow(low, order - 1)));
        if (!(ratio > 1)) continue;
        const long double delta = p - ratio * q;
        const long double moment = q * std::pow(above, order) + (1 - q) * std::pow(low, order);
        const auto divergence = static_cast<double>(std::log(moment) / (order - 1));
        const double found = rdp::EpsilonAt(divergence, static_cast<double>(order),
                                            static_cast<double>(std::log(delta)), 0);
        const double truth = static_cast<double>(std::log(ratio));
        EXPECT_GE(found, truth - 1e-12) << order << " " << q << " " << above;
        EXPECT_LE(found, truth + 1e-9) << order << " " << q << " " << above;
        far += order * delta > 0.01L;
      }
    }
  }
  EXPECT_GT(far, 20);
}

// What both directions give is the greater: one that is no greater anywhere needs no search.
TEST(Rdp, TheLesserDirectionIsAskedOnce) {
  int asked = 0;
  rdp::ApproximateCurve curve{nullptr, 0, {}};
  curve.remove = [](double order) { return order / 2; };
  curve.add = [&](double order) { return ++asked, order / 4; };
  const double remove = rdp::EpsilonFromCurve({curve.remove}, 1e-6, {})->value;
  EXPECT_EQ(rdp::EpsilonFromCurve(curve, 1e-6, {})->value, remove);
  EXPECT_EQ(asked, 1);
  // Where it is the greater one, it is searched.
  std::swap(curve.remove, curve.add);
  EXPECT_EQ(rdp::EpsilonFromCurve(curve, 1e-6, {})->value, remove);
  curve.remove = [](double order) { return 0.3 + order / 4; };
  EXPECT_EQ(rdp::EpsilonFromCurve(curve, 1e-6, {})->value, remove);
}

TEST(Rdp, StopsWhenCancelled) {
  Composition composition;
  composition.steps.push_back({0.02, {1.1, 1.1}, 500});
  Limits limits;
  limits.cancelled = [] { return true; };
  EXPECT_EQ(rdp::EpsilonFromCurve(rdp::CurveOf(composition), 1e-6, limits).status().code(),
            absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace dpledger::accountant
