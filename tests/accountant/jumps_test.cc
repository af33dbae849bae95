// ε and δ by the size of the largest jump: accountant/contour/ladder.h.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <tuple>
#include <utility>

#include "accountant/accountant.h"
#include "accountant/contour/contour.h"
#include "accountant/contour/ladder.h"
#include "accountant/contour/measure.h"
#include "accountant/pld/pld.h"
#include "tests/accountant/exact_gaussian.h"

namespace dpledger::accountant::contour {
namespace {

using exact::Real;

Composition One(double q, double z, uint64_t count) {
  Composition composition;
  composition.steps.push_back({q, {z, z}, count});
  return composition;
}

// δ(ε) of one step at any ε, and of two: E[e^{loss of one} δ of the other at what is left].
Real DeltaOfOne(bool add, Real q, Real mu, Real epsilon) {
  if (add) return epsilon >= -std::log1p(-q) ? 0 : exact::AddDelta(q, mu, epsilon);
  return epsilon <= std::log1p(-q) ? -std::expm1(epsilon) : exact::RemoveDelta(q, mu, epsilon);
}
Real DeltaOfTwo(bool add, Real q, Real mu, Real epsilon) {
  // The other's profile turns on the scale of q where this one's loss makes up for ε: nodes are as
  // dense there as they need be.
  const Real ratio = std::expm1(add ? -epsilon : epsilon) / q;
  const Real centre = ratio > -1 ? std::fmax(-8.0L, std::log1p(ratio) / mu + mu / 2) : -8.0L;
  const auto integrand = [&](Real t) {
    const Real l = exact::Loss(q, mu, t);
    return add ? std::exp(-t * t / 2) * DeltaOfOne(true, q, mu, epsilon + l)
               : std::exp(l - t * t / 2) * DeltaOfOne(false, q, mu, epsilon - l);
  };
  const Real h = 1.0L / 512;
  Real sum = 0;
  for (Real i = -32 / h; i * h < 4; ++i) {
    const Real away = std::exp(i * h);
    sum += away * (integrand(centre + away) + integrand(centre - away));
  }
  return sum * h / std::sqrt(2 * std::acos(-1.0L));
}

TEST(Jumps, EpsilonOfOneAndTwoStepsContainsTheProfilesInverse) {
  std::mt19937_64 random(11);
  const auto log_uniform = [&](double a, double b) {
    return a * std::pow(b / a, std::uniform_real_distribution<double>()(random));
  };
  int answered = 0, narrow = 0;
  for (int i = 0; i < 40; ++i) {
    const double q = log_uniform(1e-6, 1e-2), z = log_uniform(0.3, 3);
    const double delta = log_uniform(1e-20, 1e-5);
    const uint64_t count = 1 + i % 2;
    const bool add = i % 4 >= 2;
    const auto found = EpsilonByJumps(EndsOfWidth({{q, {z, z}, count}}, add), delta, {});
    ASSERT_TRUE(found.ok());
    if (!found->has_value()) continue;
    ++answered;
    narrow += (*found)->RelativeGap() < 1e-6;
    const auto profile = [&](double epsilon) {
      const Real mu = 1 / static_cast<Real>(z);
      return count == 1 ? DeltaOfOne(add, q, mu, epsilon) : DeltaOfTwo(add, q, mu, epsilon);
    };
    EXPECT_LE(profile((*found)->upper()), delta * (1 + 1e-10L)) << q << " " << z << " " << delta;
    if ((*found)->lower() > 0) {
      EXPECT_GE(profile((*found)->lower()), delta * (1 - 1e-10L)) << q << " " << z << " " << delta;
    }
  }
  EXPECT_GE(answered, 10);
  EXPECT_GE(narrow, 10);
}

// Of two steps, with shares so great that the top, what is neglected and each part's errors are
// much of δ: a term that forgets how many steps there are is too small by half.
TEST(Jumps, HoldForTwoStepsWhereEachErrorIsLarge) {
  int answered = 0, wide = 0;
  for (const bool add : {false, true}) {
    for (const auto& [q, z] : {std::pair(1e-4, 0.7), std::pair(3e-3, 1.5), std::pair(0.05, 0.9)}) {
      for (const double epsilon : {1e-4, 3e-3, 0.05, 0.6}) {
        const Widths steps = EndsOfWidth({{q, {z, z}, 2}}, add);
        const Real truth = DeltaOfTwo(add, q, 1 / static_cast<Real>(z), epsilon);
        if (!(truth > 1e-30L)) continue;
        for (const double share : {0.5, -0.5, -1.5, -3.0, -6.0}) {
          const auto found = DeltaByJumpsTo(share, steps, epsilon, {});
          ASSERT_TRUE(found.ok());
          if (!found->has_value()) continue;
          ++answered;
          EXPECT_LE((*found)->lower(), truth * (1 + 1e-10L)) << add << q << " " << epsilon;
          EXPECT_GE((*found)->upper(), truth * (1 - 1e-10L)) << add << q << " " << epsilon;
          wide += (*found)->upper() - (*found)->lower() > 0.01 * truth;
        }
      }
    }
  }
  EXPECT_GT(answered, 30);
  EXPECT_GT(wide, 20) << "no error was large";
}

// Three kinds of which two hardly matter took 8 seconds, and others 24, to find no line.
TEST(Jumps, EndWhereTheirWorkIsSpent) {
  const Widths steps = EndsOfWidth({{1e-4, {0.7, 0.7}, 2}}, false);
  EXPECT_TRUE(EpsilonByJumps(steps, 1e-6, {})->has_value());
  EXPECT_TRUE(DeltaByJumps(steps, 0.01, {})->has_value());
  Limits little;
  little.max_jump_work = 1e5;
  EXPECT_FALSE(EpsilonByJumps(steps, 1e-6, little)->has_value());
  EXPECT_FALSE(DeltaByJumps(steps, 0.01, little)->has_value());
}

// Cells are as many as the window is long and its edge is sharp: they are counted before they are
// made.
TEST(Jumps, RefuseAShellOfTooManyCells) {
  const Step step = EndsOfWidth({{3e-4, {31, 31}, 14}}, false).upper[0];
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  JumpWork work{1e9};
  EXPECT_FALSE(Measure({step}, {{-kInfinity, 100, 4e-4}}, 34, work).ok());
  EXPECT_EQ(work.left, 1e9);
  EXPECT_TRUE(Measure({step}, {{-kInfinity, 20, 0.01}}, 34, work).ok());
  EXPECT_LT(work.left, 1e9);
}

// Of many steps, against the narrow answer: a term that forgets their number is too small by far.
TEST(Jumps, WideAnswersContainNarrowOnesOfManySteps) {
  int answered = 0, wide = 0;
  for (const bool add : {false, true}) {
    for (const auto& [q, z, count] : {std::tuple(1e-5, 0.5, 300.0), std::tuple(1e-4, 0.7, 2000.0),
                                      std::tuple(1e-4, 0.45, 50.0)}) {
      for (const double epsilon : {1e-3, 0.02, 0.3}) {
        const Widths steps = EndsOfWidth({{q, {z, z}, static_cast<uint64_t>(count)}}, add);
        const auto narrow = DeltaByJumpsTo(std::log(1e-9), steps, epsilon, {});
        ASSERT_TRUE(narrow.ok());
        if (!narrow->has_value() || (*narrow)->RelativeGap() > 1e-4) continue;
        for (const double share : {0.5, -0.5, -1.5, -3.0}) {
          const auto found = DeltaByJumpsTo(share, steps, epsilon, {});
          ASSERT_TRUE(found.ok());
          if (!found->has_value()) continue;
          ++answered;
          EXPECT_LE((*found)->lower(), (*narrow)->upper()) << add << q << " " << epsilon;
          EXPECT_GE((*found)->upper(), (*narrow)->lower()) << add << q << " " << epsilon;
          wide += (*found)->RelativeGap() > 0.01;
        }
      }
    }
  }
  EXPECT_GT(answered, 20);
  EXPECT_GT(wide, 10) << "no error was large";
}

// ε of two steps by nested quadrature at 30 digits (tests/oracle/few_jumps.py).
TEST(Jumps, EpsilonContainsQuadratureOfManyDigits) {
  const struct {
    double q, z, delta, epsilon;
  } kValues[] = {
      {4.68e-6, 0.6605, 1.247e-9, 0.0022099694836977055},
      {4.2697198898103645e-6, 0.3763808192768174, 2.7159773331775695e-7, 0.0094666045317866192}};
  for (const auto& value : kValues) {
    const auto found = ComputeEpsilon(One(value.q, value.z, 2), value.delta, {});
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(found->method, Method::kContour);
    EXPECT_TRUE(found->value.Contains(value.epsilon)) << value.epsilon;
    EXPECT_LE(found->value.RelativeGap(), 1e-6);
  }
}

// δ is above δ(0), so ε is 0; the loss grid answered [0, 5.3e-6].
TEST(Jumps, EpsilonIsZeroWhereDeltaIsAboveTheTotalVariation) {
  for (const auto& [composition, delta] :
       {std::pair{One(1.1318400554423864e-5, 1.202067095002014, 2), 5.867082764368896e-6},
        {One(1.304e-6, .29901, 277), 1.76513e-4}}) {
    const auto found = ComputeEpsilon(composition, delta, {});
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(found->value.upper(), 0);
  }
}

// Settings that were answered with a gap above 1e-3, [0, x] among them.
TEST(Jumps, AnswerWhatOneLineCannot) {
  const struct {
    double q, z;
    uint64_t count;
    double delta;
  } kSettings[] = {{1e-4, 1, 10000, 1e-10},
                   {1.02e-6, 1.25, 106, 1e-25},
                   {1.988634415200294e-06, 0.75668538860245027, 700464, 2.9821787217765959e-24},
                   {4.7593464105134623e-05, 1.22747964146473, 308873, 7.1301076370993214e-30},
                   {2.197149276124154e-06, 0.91878628400645346, 49, 8.1753735722749658e-20},
                   {3.6551039747790371e-06, 1.0718821554583171, 29, 5.5516290234613861e-18}};
  for (const auto& s : kSettings) {
    const Composition composition = One(s.q, s.z, s.count);
    const auto found = ComputeEpsilon(composition, s.delta, {});
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(found->method, Method::kContour);
    EXPECT_LE(found->value.RelativeGap(), 1e-6) << s.q;
    // δ at the ends is on either side.
    for (const double end : {found->value.lower(), found->value.upper()}) {
      const auto delta = contour::Delta(composition, end, {});
      ASSERT_TRUE(delta.ok() && delta->has_value()) << s.q;
      EXPECT_NEAR((*delta)->upper() / s.delta, 1, 1e-5);
      EXPECT_LE((*delta)->RelativeGap(), 1e-5);
    }
    const auto grid = pld::Epsilon(composition, s.delta, 0.1, {}, Direction::kRemove);
    ASSERT_TRUE(grid.ok());
    EXPECT_LE(grid->value.lower(), found->value.upper());
    EXPECT_GE(grid->value.upper(), found->value.lower());
  }
}

// Lines for the usual share of δ are out of reach for these, and those for a greater one are not.
TEST(Jumps, AnswerWithFewerDigitsWhereManyAreOutOfReach) {
  const struct {
    double q, z;
    uint64_t count;
    double delta;
  } kSettings[] = {{2.2572145068495457e-06, 0.74832844892530204, 5, 2.6203139749757894e-06},
                   {1.9983337231829032e-06, 0.7377151406166268, 7394, 2.9395068016403274e-27},
                   {4.5684355686202698e-05, 0.29316756434247054, 3, 7.8079014413457803e-18}};
  for (const auto& s : kSettings) {
    const Composition composition = One(s.q, s.z, s.count);
    const auto found = ComputeEpsilon(composition, s.delta, {});
    ASSERT_TRUE(found.ok());
    EXPECT_LE(found->value.RelativeGap(), 1e-3) << s.q;
    const auto grid = pld::Epsilon(composition, s.delta, 1e-2, {});
    ASSERT_TRUE(grid.ok());
    EXPECT_LE(grid->value.lower(), found->value.upper());
    EXPECT_GE(grid->value.upper(), found->value.lower());
  }
}

TEST(Jumps, SeveralKindsOfStepsOverlapTheLossGrid) {
  std::mt19937_64 random(12);
  const auto log_uniform = [&](double a, double b) {
    return a * std::pow(b / a, std::uniform_real_distribution<double>()(random));
  };
  int answered = 0;
  for (int i = 0; i < 6; ++i) {
    Composition composition;
    for (int kind = 0; kind < 2 + i % 2; ++kind) {
      const double z = log_uniform(0.6, 4);
      composition.steps.push_back(
          {log_uniform(1e-4, 1e-2), {z, z}, static_cast<uint64_t>(log_uniform(1, 100))});
    }
    const double delta = log_uniform(1e-12, 1e-5);
    for (const Direction direction : {Direction::kRemove, Direction::kAdd}) {
      const auto found =
          EpsilonByJumps(EndsOfWidth(composition.steps, direction == Direction::kAdd), delta, {});
      ASSERT_TRUE(found.ok());
      if (!found->has_value() || !((*found)->RelativeGap() < 1e-3)) continue;
      ++answered;
      const auto grid = pld::Epsilon(composition, delta, 1e-3, {}, direction);
      ASSERT_TRUE(grid.ok());
      EXPECT_LE(grid->value.lower(), (*found)->upper()) << i;
      EXPECT_GE(grid->value.upper(), (*found)->lower()) << i;
    }
  }
  EXPECT_GE(answered, 4);
}

// Where one line closes, its interval is a thousandth of what the loss grid has: parts and line
// share the losses at the nodes and the loop over them, nothing else.
TEST(Jumps, MeetOneLineWhereBothAnswer) {
  std::mt19937_64 random(13);
  const auto log_uniform = [&](double a, double b) {
    return a * std::pow(b / a, std::uniform_real_distribution<double>()(random));
  };
  int both = 0;
  for (int i = 0; i < 14; ++i) {
    Composition composition;
    for (int kind = 0; kind < 1 + i % 2; ++kind) {
      const double z = log_uniform(0.5, 5);
      composition.steps.push_back(
          {log_uniform(1e-4, 0.5), {z, z}, static_cast<uint64_t>(log_uniform(30, 1e6))});
    }
    const double delta = log_uniform(1e-25, 1e-3);
    for (const Direction direction : {Direction::kRemove, Direction::kAdd}) {
      const Widths ends = EndsOfWidth(composition.steps, direction == Direction::kAdd);
      const auto line = contour::Epsilon(composition, delta, {}, direction);
      const auto jumps = EpsilonByJumps(ends, delta, {});
      ASSERT_TRUE(line.ok() && jumps.ok());
      if (!line->has_value() || !((*line)->RelativeGap() < 1e-9) || !jumps->has_value()) continue;
      ++both;
      EXPECT_LE((*line)->lower(), (*jumps)->upper()) << i;
      EXPECT_GE((*line)->upper(), (*jumps)->lower()) << i;
      const double epsilon = (*line)->upper();
      const auto line_delta = contour::Delta(composition, epsilon, {}, direction);
      const auto jumps_delta = DeltaByJumps(ends, epsilon, {});
      ASSERT_TRUE(line_delta.ok() && jumps_delta.ok());
      if (!line_delta->has_value() || !jumps_delta->has_value()) continue;
      EXPECT_LE((*line_delta)->lower(), (*jumps_delta)->upper()) << i;
      EXPECT_GE((*line_delta)->upper(), (*jumps_delta)->lower()) << i;
    }
  }
  EXPECT_GE(both, 20);
}

// ε within a few q of 0, where the losses that count are next to the loss's lower edge and every
// line is long: the answer was [0, x], as a wide interval was no answer of the contour's, and the
// loss grid's lower bound does not reach there.
TEST(Jumps, EpsilonWithinAFewSamplingProbabilitiesOfZeroHasALowerBound) {
  for (const auto& [q, z, delta] :
       {std::tuple(2.594e-6, 0.36856, 3.6688e-6), std::tuple(1e-4, 0.4, 0.0)}) {
    const Real mu = 1 / static_cast<Real>(z);
    const double asked =
        delta > 0 ? delta : static_cast<double>(DeltaOfTwo(false, q, mu, q * 1.5L));
    const auto best = ComputeEpsilon(One(q, z, 2), asked, {});
    ASSERT_TRUE(best.ok()) << best.status();
    EXPECT_GT(best->value.lower(), 0.1 * q) << q;
    EXPECT_LT(best->value.upper(), 4 * q) << q;
    EXPECT_GE(DeltaOfTwo(false, q, mu, best->value.lower()), asked * (1 - 1e-10L)) << q;
    EXPECT_LE(DeltaOfTwo(false, q, mu, best->value.upper()), asked * (1 + 1e-10L)) << q;
  }
  const auto sixteen = ComputeEpsilon(One(1.72e-6, 0.43985, 16), 1.04796e-5, {});
  ASSERT_TRUE(sixteen.ok()) << sixteen.status();
  EXPECT_GT(sixteen->value.lower(), 0);
  EXPECT_LE(sixteen->value.RelativeGap(), 0.01);
}

// An interval of noise multipliers: the lower bound is that of the greatest noise, the upper one
// that of the least.
TEST(Jumps, CoverTheWidthOfTheNoiseMultiplier) {
  Composition wide = One(1e-4, 1, 1000);
  wide.steps[0].noise_multiplier = {1, 1.01};
  const auto both = EpsilonByJumps(EndsOfWidth(wide.steps, false), 1e-10, {});
  const auto least = EpsilonByJumps(EndsOfWidth(One(1e-4, 1, 1000).steps, false), 1e-10, {});
  const auto most = EpsilonByJumps(EndsOfWidth(One(1e-4, 1.01, 1000).steps, false), 1e-10, {});
  ASSERT_TRUE(both.ok() && least.ok() && most.ok());
  ASSERT_TRUE(both->has_value() && least->has_value() && most->has_value());
  EXPECT_NEAR((*both)->upper() / (*least)->upper(), 1, 1e-6);
  EXPECT_NEAR((*both)->lower() / (*most)->lower(), 1, 1e-6);
  EXPECT_LT((*both)->lower(), 0.999 * (*both)->upper());
}

TEST(Jumps, StopWhenCancelled) {
  Limits limits;
  limits.cancelled = [] { return true; };
  EXPECT_TRUE(absl::IsCancelled(
      EpsilonByJumps(EndsOfWidth(One(1e-4, 1, 1000).steps, false), 1e-10, limits).status()));
}

}  // namespace
}  // namespace dpledger::accountant::contour
