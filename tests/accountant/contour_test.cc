#include "accountant/contour/contour.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "accountant/accountant.h"
#include "accountant/contour/step.h"
#include "accountant/gaussian/gaussian.h"
#include "accountant/pld/pld.h"
#include "hwy/targets.h"
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

// K(c) by mpmath at 40 digits. Add with much signal: the range once stopped short of where u has
// its mean. q next to 1: 1 + u once lost its digits at the edge.
TEST(StepOnLine, LogMgfIsWithinItsErrorOfTheOracle) {
  struct Case {
    double q, mu, c;
    bool add;
    double log_mgf;
  };
  for (const Case& c : {Case{0.00456, 6.09, 0.84, true, 0.003761659820998582},
                        Case{0.00012, 5.73, 0.09, true, 9.2756333397920695e-6},
                        Case{0.134, 7.41, 0.0097, true, 0.0013944618963358491},
                        Case{0.551, 11.8, 0.0006, true, 0.00048043943106062998},
                        Case{0.999999999999992, 6.3, 0.42, true, 10.841722645246745},
                        Case{0.999999999999996, 2.45, 9.8, true, 241.02708257661955},
                        Case{0.999999984, 1.47, 37.5, true, 586.38193971955677},
                        Case{0.01, 1, 4, false, 0.0018746689686766193},
                        Case{0.3, 2, 1.5, false, 4.5106375433041426},
                        Case{0.01, 1, 4, true, 0.0015090287887813682}}) {
    contour::StepOnLine on_line;
    double work = 1e7;
    ASSERT_TRUE(contour::PutOnLine({c.q, c.mu, 0, 1, c.add}, c.c, 0.1, 1, 40, work, on_line));
    EXPECT_LE(std::fabs(on_line.log_mgf - c.log_mgf),
              on_line.log_mgf_error + 4e-16 * std::fabs(c.log_mgf))
        << c.q << " " << c.mu << " " << c.c;
    EXPECT_LE(on_line.log_mgf_error, 1e-10 * (1 + std::fabs(c.log_mgf)));
  }
}

// The complex transform, and its error, by mpmath at 30 digits (quad over t).
TEST(StepOnLine, RatioIsWithinItsErrorOfTheOracle) {
  struct Case {
    double q, mu, c, y;
    bool add;
    double log_modulus, phase;
  };
  for (const Case& c :
       {Case{0.01, 1, 4, 3, false, -0.001100364314284921857, 0.002574404472813378775},
        Case{0.01, 1, 4, 3, true, -0.000569831189429648451, 0.001981152170788583587},
        Case{0.3, 2, 1.5, 0.7, false, -1.014580934488306347, -1.519979731605610661},
        Case{0.001, 0.25, 20, 15, false, -7.284366579390090855e-6, 0.00001986308783573368689},
        Case{0.9, 0.5, 3, 2, true, -0.2907638425291309879, 1.238593879667894082},
        Case{0.0001, 1.4, 6, 40, false, -0.0000495178215449908603, 0.00001251256912827515141}}) {
    // The wanted node as the 1st, the 16th (just before the turning starts afresh) and the 150th
    // (in the second tile).
    for (const size_t nodes : {1, 16, 150}) {
      contour::StepOnLine on_line;
      double work = 1e7;
      const double spacing = c.y / static_cast<double>(nodes);
      ASSERT_TRUE(
          contour::PutOnLine({c.q, c.mu, 0, 1, c.add}, c.c, spacing, nodes, 40, work, on_line));
      const double error = on_line.error[nodes - 1] + 1e-18;
      EXPECT_NEAR(on_line.log_modulus[nodes - 1], c.log_modulus, error) << c.q << " " << nodes;
      EXPECT_NEAR(on_line.phase[nodes - 1], c.phase, error) << c.q << " " << nodes;
      EXPECT_LE(error, 1e-11);
    }
  }
}

bool ContainsCertified(const Interval& interval, const google::protobuf::Struct& c, double shift) {
  const double truth = NumberAt(c, "epsilon") * (1 + shift);
  const double slack = truth * NumberAt(c, "relative_uncertainty");
  return interval.lower() <= truth + slack && interval.upper() >= truth - slack;
}

TEST(Contour, EpsilonContainsEveryCertifiedValue) {
  const auto certified = ReadJsonFile("tests/data/certified_epsilon.json");
  for (const auto& value : ListAt(certified, "cases")) {
    const auto& c = value.struct_value();
    const Composition composition = StepsOf(c);
    const std::string direction = StringAt(c, "direction");
    const double delta = NumberAt(c, "delta");
    const auto found =
        direction == "both"
            ? contour::Epsilon(composition, delta, {})
            : contour::Epsilon(composition, delta, {},
                               direction == "add" ? Direction::kAdd : Direction::kRemove);
    ASSERT_TRUE(found.ok()) << found.status();
    ASSERT_TRUE(found->has_value()) << value.DebugString();
    EXPECT_TRUE(ContainsCertified(**found, c, 0)) << value.DebugString();
    EXPECT_LE((*found)->RelativeGap(), 1e-9) << value.DebugString();
    // The control: values off by a billionth are told apart.
    EXPECT_FALSE(ContainsCertified(**found, c, 2e-9 + 2 * NumberAt(c, "relative_uncertainty")));
    EXPECT_FALSE(ContainsCertified(**found, c, -2e-9 - 2 * NumberAt(c, "relative_uncertainty")));
  }
}

// An interval for the noise multiplier, from nothing to wide: what lies between is covered.
TEST(Contour, CoversTheWidthOfTheNoiseMultiplier) {
  for (const double width : {1e-16, 1e-15, 1e-14, 1e-10, 1e-5}) {
    Composition composition = One(0.01, 1.1, 10000);
    Interval& z = composition.steps[0].noise_multiplier;
    z = {1.1 * (1 - width), 1.1 * (1 + width)};
    const auto found = contour::Epsilon(composition, 1e-5, {});
    ASSERT_TRUE(found.ok() && found->has_value()) << width;
    for (const double end : {z.lower(), 1.1, z.upper()}) {
      const auto inner = contour::Epsilon(One(0.01, end, 10000), 1e-5, {});
      ASSERT_TRUE(inner.ok() && inner->has_value());
      EXPECT_LE((*found)->lower(), (*inner)->upper()) << width;
      EXPECT_GE((*found)->upper(), (*inner)->lower()) << width;
    }
    EXPECT_LE((*found)->RelativeGap(), 1e-10 + 10 * width);
    EXPECT_GE((*found)->RelativeGap(), width);
  }
}

TEST(Contour, ManyEpsilonsOnSharedLinesMeetEachAlone) {
  for (const Composition& composition : {One(0.005, 1, 200), One(0.005, 1, 20000)}) {
    for (const Direction direction : {Direction::kRemove, Direction::kAdd}) {
      std::vector<double> epsilons;
      for (int i = 0; i < 40; ++i) epsilons.push_back(0.05 * i);
      const auto together = contour::DeltasIn(direction, composition, epsilons, {});
      ASSERT_TRUE(together.ok()) << together.status();
      ASSERT_EQ(together->size(), epsilons.size());
      int met = 0;
      for (size_t i = 0; i < epsilons.size(); ++i) {
        const auto alone = contour::Delta(composition, epsilons[i], {}, direction);
        ASSERT_TRUE(alone.ok()) << alone.status();
        if (!alone->has_value() || !(*together)[i].has_value()) continue;
        ++met;
        EXPECT_LE((*alone)->lower(), (*together)[i]->upper()) << epsilons[i];
        EXPECT_GE((*alone)->upper(), (*together)[i]->lower()) << epsilons[i];
        EXPECT_LE((*together)[i]->RelativeGap(), 2e-5) << epsilons[i];
      }
      EXPECT_GE(met, 8);
    }
  }
}

// In the add direction the loss is at most -T log(1 - q): there δ becomes 0, and not before.
TEST(Contour, ManyEpsilonsReachPastTheGreatestLoss) {
  const Composition composition = One(0.3, 1, 3);
  const double greatest = -3 * std::log1p(-0.3);
  const std::vector<double> epsilons = {0.5 * greatest, 0.93 * greatest, 1.01 * greatest};
  const auto found = contour::DeltasIn(Direction::kAdd, composition, epsilons, {});
  ASSERT_TRUE(found.ok()) << found.status();
  for (const size_t i : {0, 1}) {
    const auto truth = pld::Delta(composition, epsilons[i], 1e-3, {}, Direction::kAdd);
    ASSERT_TRUE(truth.ok()) << truth.status();
    ASSERT_GT(truth->value.lower(), 0) << epsilons[i];
    if (!(*found)[i].has_value()) continue;
    EXPECT_GE((*found)[i]->upper(), truth->value.lower()) << epsilons[i];
  }
  ASSERT_TRUE((*found)[2].has_value());
  EXPECT_EQ((*found)[2]->upper(), 0);
}

// The two engines share nothing but the definition of the loss.
TEST(Contour, OverlapsTheLossDistributionOnRandomCompositions) {
  std::mt19937_64 random(20);
  const auto log_uniform = [&](double a, double b) {
    return a * std::pow(b / a, std::uniform_real_distribution<double>()(random));
  };
  Limits limits;
  limits.max_fft_bins = 1 << 17;
  dpledger::testing::SampledCases sampled(3);
  int asked = 0, answered = 0;
  for (int i = 0; i < 120; ++i) {
    Composition composition;
    const int kinds = 1 + static_cast<int>(random() % 3);
    for (int k = 0; k < kinds; ++k) {
      const double z = log_uniform(0.4, 20);
      composition.steps.push_back(
          {log_uniform(1e-4, 1), {z, z}, static_cast<uint64_t>(log_uniform(1, 1e6))});
    }
    const double delta = log_uniform(1e-30, 1e-2);
    if (!sampled.Next()) continue;
    ++asked;
    const auto by_contour = contour::Epsilon(composition, delta, limits);
    ASSERT_TRUE(by_contour.ok());
    if (!by_contour->has_value()) continue;
    const auto by_pld = pld::Epsilon(composition, delta, 1e-3, limits);
    ASSERT_TRUE(by_pld.ok());
    EXPECT_LE((*by_contour)->lower(), by_pld->value.upper()) << i;
    EXPECT_GE((*by_contour)->upper(), by_pld->value.lower()) << i;
    ++answered;
  }
  EXPECT_GT(answered, asked / 2);
}

// An answer must not depend on the machine that gave it.
TEST(Contour, EveryVectorTargetGivesTheSameBits) {
  Composition composition = One(0.01, 1.1, 10000);
  composition.steps.push_back({0.7, {0.9, 0.9}, 3});
  composition.steps.push_back({1e-3, {0.6, 0.6}, 700});
  std::optional<Interval> first;
  for (int64_t left = hwy::SupportedTargets(); left != 0; left &= left - 1) {
    hwy::SetSupportedTargetsForTest(left & -left);
    const auto found = contour::Epsilon(composition, 1e-7, {});
    ASSERT_TRUE(found.ok() && found->has_value());
    if (!first.has_value()) first = *found;
    EXPECT_EQ((*found)->lower(), first->lower()) << hwy::TargetName(left & -left);
    EXPECT_EQ((*found)->upper(), first->upper()) << hwy::TargetName(left & -left);
  }
  hwy::SetSupportedTargetsForTest(0);
}

TEST(Contour, UnsampledContainsTheClosedForm) {
  for (const double z : {0.5, 3.0, 40.0}) {
    for (const double delta : {1e-3, 1e-10, 1e-100}) {
      const auto found = contour::Epsilon(One(1, z, 25), delta, {});
      const Interval exact = gaussian::Epsilon(One(1, z, 25), delta);
      ASSERT_TRUE(found.ok() && found->has_value()) << z << " " << delta;
      EXPECT_LE((*found)->lower(), exact.upper()) << z << " " << delta;
      EXPECT_GE((*found)->upper(), exact.lower()) << z << " " << delta;
      EXPECT_LE((*found)->RelativeGap(), 1e-9) << z << " " << delta;
    }
  }
}

// The saddle is then near 1e-5, and what 1 + c loses of it once stood in K but not in e^{-cε}.
TEST(Contour, ManyUnsampledStepsContainTheClosedForm) {
  for (int power = 20; power <= 40; power += 2) {
    for (const double delta : {1e-5, 1e-10, 1e-30}) {
      const Composition steps = One(1, 1, uint64_t{1} << power);
      const auto found = contour::Epsilon(steps, delta, {});
      const Interval exact = gaussian::Epsilon(steps, delta);
      ASSERT_TRUE(found.ok() && found->has_value()) << power << " " << delta;
      EXPECT_LE((*found)->lower(), exact.upper()) << power << " " << delta;
      EXPECT_GE((*found)->upper(), exact.lower()) << power << " " << delta;
    }
  }
}

TEST(Contour, DeltaContainsKnownValues) {
  // 12 digits by an independent contour in double precision with far more nodes.
  const auto first = contour::Delta(One(0.04, 1.5, 2250), 6.7, {});
  ASSERT_TRUE(first.ok() && first->has_value());
  EXPECT_LE((*first)->lower(), 1.21579386385e-5);
  EXPECT_GE((*first)->upper(), 1.21579386383e-5);
  const auto second = contour::Delta(One(0.005, 1, 20000), 5, {});
  ASSERT_TRUE(second.ok() && second->has_value());
  EXPECT_LE((*second)->lower(), 1.44289704751e-7);
  EXPECT_GE((*second)->upper(), 1.44289704749e-7);
}

// Two steps at a rate below those whose jumps are sorted are nearly an atom: no line closes. The
// refusal must be a refusal.
TEST(Contour, WhatNoLineReachesGetsNoAnswerAndBestGoesOn) {
  const Composition composition = One(1e-9, 1.7271081464827873, 2);
  constexpr double kDelta = 3e-10;
  const auto found = contour::Epsilon(composition, kDelta, {});
  ASSERT_TRUE(found.ok());
  EXPECT_FALSE(found->has_value());
  const auto best = ComputeEpsilon(composition, kDelta, {});
  ASSERT_TRUE(best.ok());
  EXPECT_NE(best->method, Method::kContour);
}

TEST(Contour, BestUsesItAndItsIntervalIsNarrow) {
  const auto best = ComputeEpsilon(One(0.01, 1, 10000), 1e-5, {});
  EXPECT_EQ(best->method, Method::kContour);
  EXPECT_TRUE(best->value.Contains(6.187712389971539));
  EXPECT_LE(best->value.RelativeGap(), 1e-9);
}

// Where neither engine reaches the wanted gap, best gives the narrower interval and says what it
// is.
TEST(Contour, BestKeepsTheNarrowerOfTwoTooWideIntervals) {
  Options options;
  options.relative_gap = 1e-8;
  options.limits.max_fft_bins = 1 << 12;
  const auto best = ComputeEpsilon(One(1e-4, 0.7, 100000), 1e-10, options);
  ASSERT_TRUE(best.ok()) << best.status();
  EXPECT_EQ(best->method, Method::kContour);
  EXPECT_TRUE(best->value.Contains(1.354022841780));
  EXPECT_LE(best->value.RelativeGap(), 1e-6);
  ASSERT_EQ(best->warnings.size(), 1u);
  EXPECT_EQ(best->warnings[0].rfind("the interval is wider than asked for", 0), 0u);
}

// 1000 distinct steps at an absurd ε once kept gigabytes of envelopes.
TEST(Contour, AbsurdQuestionsOverManyStepsEndSoon) {
  Composition composition;
  for (int i = 0; i < 1000; ++i) {
    const double z = 1 + 1e-4 * i;
    composition.steps.push_back({1e-3, {z, z}, 1});
  }
  const auto found = contour::Delta(composition, 1e7, {});
  ASSERT_TRUE(found.ok());
  EXPECT_FALSE(found->has_value());
}

TEST(Contour, StopsWhenCancelled) {
  Limits limits;
  limits.cancelled = [] { return true; };
  EXPECT_EQ(contour::Epsilon(One(0.01, 1, 10000), 1e-5, limits).status().code(),
            absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace dpledger::accountant
