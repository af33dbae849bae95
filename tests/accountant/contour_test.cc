#include "accountant/contour/contour.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "accountant/accountant.h"
#include "accountant/gaussian/gaussian.h"
#include "accountant/pld/pld.h"
#include "tests/support/json_file.h"

namespace dpledger::accountant {
namespace {

using ::dpledger::testing::ListAt;
using ::dpledger::testing::NumberAt;
using ::dpledger::testing::ReadJsonFile;
using ::dpledger::testing::StringAt;

Composition One(double q, double z, uint64_t count) {
  Composition composition;
  composition.steps.push_back({q, {z, z}, count});
  return composition;
}

// `both` is the larger direction, which every one-direction value bounds from below.
TEST(Contour, EpsilonContainsEveryCertifiedValue) {
  const auto certified = ReadJsonFile("tests/data/certified_epsilon.json");
  int answered = 0, asked = 0;
  for (const auto& value : ListAt(certified, "cases")) {
    const auto& c = value.struct_value();
    if (StringAt(c, "direction") == "add") continue;  // remove is the larger in all of these
    Composition composition;
    for (const auto& step : ListAt(c, "steps")) {
      const double z = NumberAt(step.struct_value(), "noise_multiplier");
      composition.steps.push_back({NumberAt(step.struct_value(), "q"),
                                   {z, z},
                                   static_cast<uint64_t>(NumberAt(step.struct_value(), "count"))});
    }
    const auto found = contour::Epsilon(composition, NumberAt(c, "delta"), {});
    ASSERT_TRUE(found.ok()) << found.status();
    ++asked;
    if (!found->has_value()) continue;
    ++answered;
    const double truth = NumberAt(c, "epsilon"),
                 slack = truth * NumberAt(c, "relative_uncertainty");
    EXPECT_LE((*found)->lower, truth + slack) << value.DebugString();
    EXPECT_GE((*found)->upper, truth - slack) << value.DebugString();
    EXPECT_LE((*found)->RelativeGap(), 1e-6) << value.DebugString();
  }
  EXPECT_GE(answered, asked * 8 / 10);
}

// The two engines share nothing but the definition of the loss.
TEST(Contour, OverlapsTheLossDistributionOnRandomCompositions) {
  std::mt19937_64 random(20);
  const auto log_uniform = [&](double a, double b) {
    return a * std::pow(b / a, std::uniform_real_distribution<double>()(random));
  };
  Limits limits;
  limits.max_fft_bins = 1 << 17;
  int answered = 0;
  for (int i = 0; i < 120; ++i) {
    Composition composition;
    const int kinds = 1 + static_cast<int>(random() % 3);
    for (int k = 0; k < kinds; ++k) {
      const double z = log_uniform(0.4, 20);
      composition.steps.push_back(
          {log_uniform(1e-4, 1), {z, z}, static_cast<uint64_t>(log_uniform(1, 1e6))});
    }
    const double delta = log_uniform(1e-30, 1e-2);
    const auto by_contour = contour::Epsilon(composition, delta, limits);
    ASSERT_TRUE(by_contour.ok());
    if (!by_contour->has_value()) continue;
    const auto by_pld = pld::Epsilon(composition, delta, 1e-3, limits);
    ASSERT_TRUE(by_pld.ok());
    EXPECT_LE((*by_contour)->lower, by_pld->value.upper) << i;
    EXPECT_GE((*by_contour)->upper, by_pld->value.lower) << i;
    ++answered;
  }
  EXPECT_GT(answered, 60);
}

TEST(Contour, UnsampledContainsTheClosedForm) {
  for (const double z : {0.5, 3.0, 40.0}) {
    for (const double delta : {1e-3, 1e-10, 1e-100}) {
      const auto found = contour::Epsilon(One(1, z, 25), delta, {});
      const Interval exact = gaussian::Epsilon(One(1, z, 25), delta);
      ASSERT_TRUE(found.ok() && found->has_value()) << z << " " << delta;
      EXPECT_LE((*found)->lower, exact.upper) << z << " " << delta;
      EXPECT_GE((*found)->upper, exact.lower) << z << " " << delta;
      EXPECT_LE((*found)->RelativeGap(), 1e-9) << z << " " << delta;
    }
  }
}

TEST(Contour, DeltaContainsKnownValues) {
  // 12 digits by an independent contour in double precision with far more nodes.
  const auto first = contour::Delta(One(0.04, 1.5, 2250), 6.7, {});
  ASSERT_TRUE(first.ok() && first->has_value());
  EXPECT_LE((*first)->lower, 1.21579386385e-5);
  EXPECT_GE((*first)->upper, 1.21579386383e-5);
  const auto second = contour::Delta(One(0.005, 1, 20000), 5, {});
  ASSERT_TRUE(second.ok() && second->has_value());
  EXPECT_LE((*second)->lower, 1.44289704751e-7);
  EXPECT_GE((*second)->upper, 1.44289704749e-7);
}

// Twenty steps at rate 1e-5 are nearly an atom: the transform does not decay. The refusal must be a
// refusal.
TEST(Contour, FewEffectiveStepsGetNoAnswerAndBestGoesOn) {
  const Composition composition = One(1e-5, 1, 20);
  const auto found = contour::Epsilon(composition, 1e-8, {});
  ASSERT_TRUE(found.ok());
  EXPECT_FALSE(found->has_value());
  const auto best = ComputeEpsilon(composition, 1e-8, {});
  ASSERT_TRUE(best.ok());
  EXPECT_NE(best->method, Method::kContour);
}

TEST(Contour, BestUsesItAndItsIntervalIsNarrow) {
  const auto best = ComputeEpsilon(One(0.01, 1, 10000), 1e-5, {});
  EXPECT_EQ(best->method, Method::kContour);
  EXPECT_TRUE(best->value.Contains(6.187712389971539));
  EXPECT_LE(best->value.RelativeGap(), 1e-9);
}

TEST(Contour, StopsWhenCancelled) {
  Limits limits;
  limits.cancelled = [] { return true; };
  EXPECT_EQ(contour::Epsilon(One(0.01, 1, 10000), 1e-5, limits).status().code(),
            absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace dpledger::accountant
