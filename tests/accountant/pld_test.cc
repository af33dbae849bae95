#include "accountant/pld/pld.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>

#include "absl/time/clock.h"
#include "accountant/contour/contour.h"
#include "accountant/gaussian/gaussian.h"
#include "accountant/pair/pairs.h"
#include "accountant/pld/discrete_pair.h"
#include "accountant/pld/grid_profile.h"
#include "tests/accountant/reference_steps.h"
#include "tests/support/json_file.h"
#include "tests/support/sampled_cases.h"

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

absl::StatusOr<pld::Bounds> EpsilonFor(const std::string& direction, const Composition& composition,
                                       double delta, double gap) {
  if (direction == "both") return pld::Epsilon(composition, delta, gap, {});
  return pld::Epsilon(composition, delta, gap, {},
                      direction == "remove" ? Direction::kRemove : Direction::kAdd);
}

// Quadruple-precision values with δ from 1e-5 down to 1e-20.
TEST(Pld, EpsilonContainsEveryCertifiedValue) {
  const auto certified = ReadJsonFile("tests/data/certified_epsilon.json");
  ASSERT_GT(ListAt(certified, "cases").size(), 60);
  for (const auto& value : ListAt(certified, "cases")) {
    const auto& c = value.struct_value();
    const double truth = NumberAt(c, "epsilon"),
                 slack = truth * NumberAt(c, "relative_uncertainty");
    const auto bounds =
        EpsilonFor(StringAt(c, "direction"), StepsOf(c), NumberAt(c, "delta"), 1e-3);
    ASSERT_TRUE(bounds.ok()) << bounds.status();
    const std::string at = value.DebugString();
    EXPECT_LE(bounds->value.lower(), truth + slack) << at;
    EXPECT_GE(bounds->value.upper(), truth - slack) << at;
    EXPECT_LE(bounds->value.RelativeGap(), 1e-3) << at;
    EXPECT_TRUE(bounds->met && bounds->gridded) << at;
  }
}

TEST(Pld, OverlapsTheIntervalsOfOtherAccountants) {
  const auto peers = ReadJsonFile("tests/data/peer_epsilon.json");
  int compared = 0;
  for (const auto& value : ListAt(peers, "cases")) {
    const auto& c = value.struct_value();
    if (StringAt(c, "quantity") != "epsilon" || StringAt(c, "accountant") != "prv") continue;
    // They analyse the remove direction.
    const auto bounds =
        pld::Epsilon(StepsOf(c), NumberAt(c, "delta"), 1e-3, {}, Direction::kRemove);
    ASSERT_TRUE(bounds.ok()) << bounds.status();
    EXPECT_LE(bounds->value.lower(), NumberAt(c, "upper")) << StringAt(c, "id");
    EXPECT_GE(bounds->value.upper(), NumberAt(c, "lower")) << StringAt(c, "id");
    ++compared;
  }
  EXPECT_GT(compared, 30);
}

// One and two steps have no law of large numbers to hide behind: exact δ by 30-digit quadrature.
TEST(Pld, DeltaOfOneAndTwoStepsContainsTheOracle) {
  const auto oracle = ReadJsonFile("tests/data/accounting_oracle.json");
  dpledger::testing::SampledCases sampled(3);
  uint64_t checked = 0;
  Limits limits;
  limits.max_fft_bins = 1 << 14;  // validity is asked here, not the gap
  for (const char* list : {"one_step_delta", "two_step_delta"}) {
    for (const auto& value : ListAt(oracle, list)) {
      const auto& c = value.struct_value();
      const double log_delta = NumberAt(c, "log_delta");
      if (log_delta < -500 || !sampled.Next()) continue;  // below what doubles show as δ
      const uint64_t steps = std::string(list) == "one_step_delta" ? 1 : 2;
      const auto bounds =
          pld::Delta(One(NumberAt(c, "q"), NumberAt(c, "noise_multiplier"), steps),
                     NumberAt(c, "epsilon"), 1e-2, limits,
                     StringAt(c, "direction") == "remove" ? Direction::kRemove : Direction::kAdd);
      ASSERT_TRUE(bounds.ok()) << bounds.status();
      const double delta = std::exp(log_delta), slack = delta * 4e-16 * (1 + std::fabs(log_delta));
      EXPECT_LE(bounds->value.lower(), delta + slack) << value.DebugString();
      EXPECT_GE(bounds->value.upper(), delta - slack) << value.DebugString();
      ++checked;
    }
  }
  EXPECT_GT(checked, 200 / sampled.one_in());
}

TEST(Pld, UnsampledContainsTheClosedForm) {
  for (const double z : {0.5, 1.0, 5.0, 30.0}) {
    for (const double delta : {1e-2, 1e-8, 1e-30, 1e-100}) {
      const Composition composition = One(1, z, 40);
      const auto bounds = pld::Epsilon(composition, delta, 1e-3, {});
      const Interval exact = gaussian::Epsilon(composition, delta);
      ASSERT_TRUE(bounds.ok());
      EXPECT_LE(bounds->value.lower(), exact.upper()) << z << " " << delta;
      EXPECT_GE(bounds->value.upper(), exact.lower()) << z << " " << delta;
      EXPECT_LE(bounds->value.RelativeGap(), 1e-3) << z << " " << delta;
    }
  }
}

TEST(Pld, WantedGapIsReached) {
  for (const double gap : {1e-2, 1e-3, 1e-4}) {
    const auto bounds = pld::Epsilon(One(0.01, 1, 10000), 1e-5, gap, {});
    EXPECT_LE(bounds->value.RelativeGap(), gap);
    EXPECT_TRUE(bounds->value.Contains(6.187712389971539));
  }
}

// The guarantee is the worse of both directions, composed apart: taking the larger pair step by
// step would be wrong.
// One response, of which the δ that is asked for is a share of what it shows: e^ε = (p - δ)/q. The
// saddle is far out, where a mesh that adds no variance may be far wider than the losses.
TEST(Pld, LossesFarBelowTheCoarsestMeshAreSeen) {
  for (const double epsilon : {1e-4, 1e-3, 3.1e-3, 0.03, 0.4}) {
    for (const double share : {1e-6, 1e-3, 0.1}) {
      const Pair pair = EpsilonDeltaPair(epsilon, 0, Bound::kUpper);
      Composition composition;
      composition.pairs.push_back({pair, pair, std::nullopt, 1});
      const double delta = share * epsilon;
      const double truth = std::log1p((std::expm1(epsilon) - delta * (1 + std::exp(epsilon))));
      const auto found = pld::Epsilon(composition, delta, 1e-4, {});
      ASSERT_TRUE(found.ok());
      EXPECT_LE(found->value.lower(), truth * (1 + 1e-9)) << epsilon << " " << share;
      EXPECT_GE(found->value.upper(), truth * (1 - 1e-9)) << epsilon << " " << share;
      EXPECT_LE(found->value.RelativeGap(), 1e-4) << epsilon << " " << share;
    }
  }
}

TEST(Pld, BothDirectionsIsTheLarger) {
  const Composition composition = One(0.1, 0.5, 100);
  const auto both = pld::Epsilon(composition, 1e-5, 1e-3, {});
  const auto remove = pld::Epsilon(composition, 1e-5, 1e-3, {}, Direction::kRemove);
  const auto add = pld::Epsilon(composition, 1e-5, 1e-3, {}, Direction::kAdd);
  EXPECT_GT(remove->value.lower(), add->value.upper());
  EXPECT_TRUE(both->value.Contains((remove->value.lower() + remove->value.upper()) / 2));
}

TEST(Pld, DeltaAndEpsilonAgree) {
  const Composition composition = One(0.02, 0.8, 1000);
  const auto epsilon = pld::Epsilon(composition, 1e-5, 1e-3, {});
  EXPECT_LE(pld::Delta(composition, epsilon->value.upper(), 1e-3, {})->value.lower(), 1e-5);
  EXPECT_GE(pld::Delta(composition, epsilon->value.lower(), 1e-3, {})->value.upper(), 1e-5);
}

TEST(Pld, SmallMemoryGivesAWiderValidIntervalAndSaysSo) {
  Limits limits;
  limits.max_fft_bins = 1024;
  const auto bounds = pld::Epsilon(One(0.01, 1, 10000), 1e-5, 1e-3, limits);
  ASSERT_TRUE(bounds.ok());
  EXPECT_FALSE(bounds->met);
  EXPECT_TRUE(bounds->value.Contains(6.187712389971539));
  EXPECT_LT(bounds->value.upper(), 6.72);
}

TEST(Pld, OutOfReachFallsBackToTheRenyiBound) {
  const auto bounds = pld::Epsilon(One(0.5, 0.02, 10), 1e-5, 1e-3, {});
  ASSERT_TRUE(bounds.ok());
  EXPECT_FALSE(bounds->gridded);
  EXPECT_EQ(bounds->value.lower(), 0);
  EXPECT_TRUE(std::isfinite(bounds->value.upper()));
}

TEST(Pld, TooManyStepsForDoublesFallBackAtOnce) {
  const auto bounds = pld::Epsilon(One(1e-6, 1, uint64_t{1} << 53), 1e-5, 1e-3, {});
  ASSERT_TRUE(bounds.ok());
  EXPECT_FALSE(bounds->gridded);
}

TEST(Pld, ADeadlineDuringRefinementLeavesAValidInterval) {
  Limits limits;
  limits.deadline = absl::Now() + absl::Milliseconds(1500);
  const auto bounds = pld::Epsilon(One(0.01, 1, 10000), 1e-5, 1e-9, limits);
  ASSERT_TRUE(bounds.ok()) << bounds.status();
  EXPECT_FALSE(bounds->met);
  EXPECT_TRUE(bounds->value.Contains(6.187712389971539));
}

// One mesh for many ε: it holds what the contour holds, nearly as narrow as asked for where δ
// matters; the profile of a little more noise is noticed.
TEST(GridProfile, ContainsTheContourAtEveryEpsilon) {
  for (const double probability : {0.01, 0.05}) {
    for (const Direction direction : {Direction::kRemove, Direction::kAdd}) {
      const double delta = 1e-6;
      const Composition composition = One(probability, 1, 500), other = One(probability, 1.02, 500);
      auto profile = pld::GridProfile::Of(composition, direction, delta, 1e-3, {});
      ASSERT_TRUE(profile.ok()) << profile.status();
      int narrow = 0, noticed = 0;
      for (double epsilon = 0; epsilon < 50; epsilon = 0.05 + 1.06 * epsilon) {
        const auto truth = contour::Delta(composition, epsilon, {}, direction);
        const auto far = contour::Delta(other, epsilon, {}, direction);
        ASSERT_TRUE(truth.ok() && far.ok());
        if (!truth->has_value() || !far->has_value()) continue;
        const auto found = profile->DeltaAt(epsilon);
        ASSERT_TRUE(found.ok()) << found.status();
        EXPECT_LE(found->lower(), (*truth)->upper()) << epsilon;
        EXPECT_GE(found->upper(), (*truth)->lower()) << epsilon;
        noticed += (*far)->upper() < found->lower();
        if ((*truth)->lower() < 0.01 * delta || (*truth)->lower() > 100 * delta) continue;
        EXPECT_LE(found->RelativeGap(), 5e-3) << epsilon;
        ++narrow;
      }
      EXPECT_GE(narrow, 1);
      EXPECT_GE(noticed, 5);
    }
  }
}

// A composition serves as many ε as it is near the saddle of, and no more.
TEST(GridProfile, IsAsNarrowAsAQuestionAboutEachEpsilon) {
  Composition composition;
  composition.pairs.push_back(
      {BoundedRangePair(0.8), EpsilonDeltaPair(0.4, 0, Bound::kLower), std::nullopt, 3});
  auto profile = pld::GridProfile::Of(composition, Direction::kRemove, 1e-7, 1e-3, {});
  ASSERT_TRUE(profile.ok()) << profile.status();
  for (double epsilon = 0; epsilon < 2.3; epsilon += 0.05) {
    const auto found = profile->DeltaAt(epsilon);
    const auto alone = pld::Delta(composition, epsilon, 1e-3, {}, Direction::kRemove);
    ASSERT_TRUE(found.ok() && alone.ok());
    EXPECT_LE(found->upper(), 1.05 * alone->value.upper()) << epsilon;
    EXPECT_GE(found->lower(), 0.95 * alone->value.lower()) << epsilon;
  }
}

TEST(GridProfile, IsExactBeyondTheGreatestLoss) {
  const Composition composition = One(0.3, 1, 3);
  auto profile = pld::GridProfile::Of(composition, Direction::kAdd, 1e-6, 1e-3, {});
  ASSERT_TRUE(profile.ok()) << profile.status();
  const auto found = profile->DeltaAt(-3 * std::log1p(-0.3) + 0.1);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->lower(), 0);
  EXPECT_LE(found->upper(), 1e-12);  // what the cut tails may hold
}

TEST(Pld, StopsWhenCancelledOrOutOfTime) {
  Limits limits;
  limits.cancelled = [] { return true; };
  EXPECT_EQ(pld::Epsilon(One(0.01, 1, 10), 1e-5, 1e-3, limits).status().code(),
            absl::StatusCode::kCancelled);
  limits = {};
  limits.deadline = absl::InfinitePast();
  EXPECT_EQ(pld::Epsilon(One(0.01, 1, 10), 1e-5, 1e-3, limits).status().code(),
            absl::StatusCode::kDeadlineExceeded);
}

// ---- The two discretisations of one step ----

// The discrete pair's own hockey-stick divergence, summed in long double.
long double DeltaOf(const pld::DiscretePair& pair, Direction direction, long double epsilon) {
  long double delta = direction == Direction::kRemove ? pair.remove_infinity : pair.add_infinity;
  for (size_t j = 0; j < pair.mass.size(); ++j) {
    const long double x = pair.first_loss + pair.step * static_cast<long double>(j);
    const long double p = pair.mass[j], q = p * std::exp(-x);
    delta += std::fmax(0.0L, direction == Direction::kRemove ? p - std::exp(epsilon) * q
                                                             : q - std::exp(epsilon) * p);
  }
  return delta;
}

// The step's exact profile: the set where the loss exceeds ε is a half line.
long double ExactDelta(double q, double mu, Direction direction, long double epsilon) {
  const auto tail = [](long double x) { return 0.5L * std::erfc(x / std::sqrt(2.0L)); };
  const long double m = mu;
  if (direction == Direction::kRemove) {
    const long double ratio = (std::exp(epsilon) - (1 - q)) / q;
    const long double t = std::log(ratio) / m + m / 2;
    return (1 - q) * tail(t) + q * tail(t - m) - std::exp(epsilon) * tail(t);
  }
  const long double ratio = (std::exp(-epsilon) - (1 - q)) / q;
  if (ratio <= 0) return 0;
  const long double t = std::log(ratio) / m + m / 2;
  return tail(-t) - std::exp(epsilon) * ((1 - q) * tail(-t) + q * tail(m - t));
}

Pair SampledPair(double q, double mu) {
  const double inf = std::numeric_limits<double>::infinity();
  DensityPiece piece{-inf, inf, -0.91893853320467274178, 0, -0.5, {}, {{0, 0}}};
  if (q < 1) piece.p.push_back({std::log1p(-q), 0});
  piece.p.push_back({std::log(q) - mu * mu / 2, mu});
  return {{}, {piece}, 0, q == 1};
}

pld::Shares SharesOf(const Pair& pair, double step) {
  return *pld::Shares::Of(pair, step, 1e-15, 1 << 20, {});
}

TEST(DiscretePair, UpperAndLowerEncloseTheStepAtEveryEpsilon) {
  for (const double q : {1e-4, 1e-3, 0.1, 0.5, 0.99, 1.0}) {
    for (const double mu : {0.05, 0.5, 1.0, 2.0, 5.0}) {
      for (const double step : {0.3, 0.01, 0.001}) {
        const pld::Shares shares = SharesOf(SampledPair(q, mu), step);
        const pld::DiscretePair upper = shares.Upper(), lower = shares.Lower();
        for (const Direction direction : {Direction::kRemove, Direction::kAdd}) {
          for (const double epsilon : {0.0, 1e-4, 0.003, 0.05, 0.4, 1.1, 3.0, 8.0}) {
            const long double exact = ExactDelta(q, mu, direction, epsilon);
            EXPECT_GE(DeltaOf(upper, direction, epsilon), exact - 1e-15L)
                << q << " " << mu << " " << step << " " << epsilon;
            EXPECT_LE(DeltaOf(lower, direction, epsilon), exact + 1e-15L)
                << q << " " << mu << " " << step << " " << epsilon;
          }
        }
      }
    }
  }
}

// Negative control for the test above: a pair for slightly less (more) noise must be seen to be
// out.
TEST(DiscretePair, ABoundForOtherNoiseIsCaught) {
  const long double exact = ExactDelta(0.1, 1.0, Direction::kRemove, 0.4);
  EXPECT_LT(DeltaOf(SharesOf(SampledPair(0.1, 0.99), 0.001).Upper(), Direction::kRemove, 0.4),
            exact);
  EXPECT_GT(DeltaOf(SharesOf(SampledPair(0.1, 1.01), 0.001).Lower(), Direction::kRemove, 0.4),
            exact);
}

// The lower bound's deficit is of the second order in the mesh, also between two humps of the loss
// (the record is out, or in).
TEST(DiscretePair, LowerLosesLittleOfATwoHumpedLoss) {
  for (const double q : {1e-3, 0.05, 0.3}) {
    const pld::DiscretePair lower = SharesOf(SampledPair(q, 4.0), 1e-3).Lower();
    long double mass = 0;
    for (double m : lower.mass) mass += m;
    EXPECT_GT(mass, 1 - 1e-9) << q;
    for (const double epsilon : {0.5, 2.0, 6.0}) {
      EXPECT_GT(DeltaOf(lower, Direction::kRemove, epsilon),
                ExactDelta(q, 4.0, Direction::kRemove, epsilon) * (1 - 1e-5))
          << q << " " << epsilon;
    }
  }
}

// A step whose losses are far finer than the mesh that the others need reveals nothing there, and
// takes nothing from them.
TEST(DiscretePair, AFineStepLeavesTheOthersTheirLowerEnd) {
  Composition composition = One(1, .3, 2);
  const double alone = gaussian::Epsilon(composition, 5e-8).lower();
  for (const double delta : {0.0, 1e-20, 1e-12}) {
    const Pair fine = EpsilonDeltaPair(1e-3, delta, Bound::kUpper);
    composition.pairs = {{fine, fine, std::nullopt, 1}};
    const auto bounds = pld::Epsilon(composition, 5e-8, 1e-4, {});
    ASSERT_TRUE(bounds.ok()) << bounds.status();
    EXPECT_NEAR(bounds->value.lower(), alone, 1e-4 * alone) << delta;
  }
}

TEST(DiscretePair, MergedOutcomesKeepTheMasses) {
  const auto pair = pld::DiscretePair::Merged(.1, .2, .05);
  ASSERT_EQ(pair.mass.size(), 1u);
  EXPECT_LE(pair.mass[0], .8);
  EXPECT_NEAR(pair.mass[0], .8, 1e-12);
  EXPECT_NEAR(pair.mass[0] * std::exp(-pair.first_loss), .95, 1e-12);
  EXPECT_GT(pair.loss_error, 0);
  EXPECT_EQ(pld::DiscretePair::Merged(.1, .2, .2).first_loss, 0);
}

TEST(DiscretePair, TooFineAGridIsRefused) {
  EXPECT_EQ(pld::Shares::Of(SampledPair(0.5, 1), 1e-9, 1e-10, 1000, {}).status().code(),
            absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace dpledger::accountant
