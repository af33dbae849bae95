// The contour's bounds as bounds: each error is made the largest one, by a line or a rule that is
// far too coarse for an answer, and the truth must still lie inside.
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <random>
#include <vector>

#include "accountant/contour/envelope.h"
#include "accountant/contour/line.h"
#include "accountant/contour/saddle.h"
#include "accountant/contour/step.h"
#include "accountant/contour/steps_of.h"
#include "tests/accountant/exact_gaussian.h"

namespace dpledger::accountant::contour {
namespace {

using exact::Real;

// 40 unsampled steps are one Gaussian mechanism.
constexpr double kMu = 0.5, kCount = 40;

// 1 - δ(ε) of one Gaussian mechanism, without a subtraction.
Real Rest(Real mu, Real epsilon) {
  const Real at = epsilon / mu - mu / 2;
  return exact::NormalTail(-at) + std::exp(epsilon) * exact::NormalTail(at + mu);
}

// Asks a line that is laid with `room` and `share` for log δ (of order c < 0: for log(1 - δ))
// around the ε it is laid for, where μ
// is known to `spread` and off by `off`. The greatest distance of the truth from the middle of the
// interval.
double WorstOnLine(double c, double room, double share, double spread = 0, double off = 0) {
  const Limits limits;
  Tilting tilting({{1, kMu, spread, kCount, false}}, limits);
  const Saddle saddle = tilting.At(c);
  const double epsilon = saddle.Epsilon();
  std::optional<Line> line =
      *Line::Through(tilting, saddle, epsilon, share, Line::kGreatestWork, room);
  EXPECT_TRUE(line.has_value());
  const Real mu = kMu * std::sqrt(static_cast<Real>(kCount)) * (1 + static_cast<Real>(off));
  double worst = 0;
  for (int i = -20; i <= 20; ++i) {
    const double at = std::fmax(0, epsilon + 0.1 * i * line->deviation());
    const Line::LogDelta found = line->LogDeltaAt(at);
    const Real log_delta = std::log(c > 0 ? exact::RemoveDelta(1, mu, at) : Rest(mu, at));
    EXPECT_LE(found.lower, log_delta) << "c " << c << ", epsilon " << at;
    EXPECT_GE(found.upper, log_delta) << "c " << c << ", epsilon " << at;
    const Real middle = (static_cast<Real>(found.lower) + found.upper) / 2;
    worst = std::fmax(worst, static_cast<double>(std::fabs(log_delta - middle)));
    const double delta = static_cast<double>(exact::RemoveDelta(1, mu, at));
    if (c < 0 && !(delta > 0.5 && delta < 1 - 1e-3)) continue;
    double guess = epsilon;
    const std::optional<Interval> back = line->EpsilonAt(delta, guess);
    EXPECT_TRUE(!back.has_value() ||
                (back->lower() <= at * (1 + 1e-12) && back->upper() >= at * (1 - 1e-12)))
        << "c " << c << ", epsilon " << at;
  }
  return worst;
}

// A line that ends too early. Its period is long, so that no alias hides what is missing.
TEST(LineBounds, HoldWhereTheEndIsTheLargestError) {
  for (const double c : {0.7, 2.0, 5.0, -0.2, -0.5, -0.8}) {
    for (const double share : {1e-1, 1e-2, 1e-4}) EXPECT_GT(WorstOnLine(c, 8, share), 1e-3 * share);
  }
}

// A period that is too short: the sum is too great.
TEST(LineBounds, HoldWhereTheAliasesAreTheLargestError) {
  for (const double c : {0.7, 2.0, 5.0, -0.2, -0.5, -0.8}) {
    for (const double room : {0.4, 0.6, 0.8}) EXPECT_GT(WorstOnLine(c, room, 1e-12), 1e-12);
  }
}

TEST(LineBounds, HoldWhereTheWidthOfMuIsTheLargestError) {
  for (const double c : {0.3, 2.0, -0.4}) {
    for (const double off : {-1e-6, 1e-6}) EXPECT_GT(WorstOnLine(c, 1, 1e-12, 1e-6, off), 1e-7);
  }
}

// The real part of log ψ(y), ψ(y) = A(a + iy)/A(a), for either direction.
Real LogModulus(const Step& step, double c, Real y) {
  const Real power = step.add ? -static_cast<Real>(c) : 1 + static_cast<Real>(c);
  return std::log(std::abs(exact::Moment(step.q, step.mu, {power, y})) /
                  exact::Moment(step.q, step.mu, power).real());
}

// A rule of so few nodes that it misses what is left of the transform far out.
TEST(EnvelopeBounds, HoldWhereTheRuleIsTheLargestError) {
  for (const Step& step :
       {Step{0.3, 1.5, 0, 1, false}, Step{0.05, 3, 0, 1, false}, Step{0.3, 1.5, 0, 1, true}}) {
    for (const double digits : {2.0, 3.0, 5.0}) {
      const double c = 1.5;
      const Tilt tilt = [&] {
        const Limits limits;
        Tilting tilting({step}, limits);
        tilting.At(c);
        return tilting.StepAt(0, c);
      }();
      Envelope envelope(step, c, tilt.log_mgf - tilt.error, digits);
      size_t height = 3;
      double bound = 0;
      for (double y = 0.1; y * step.mu < 250; y *= 1.25) {
        bound = envelope.LogBound(y, height);
        EXPECT_GE(bound, LogModulus(step, c, y)) << step.q << " " << digits << " y " << y;
      }
      // It has stopped falling: what is left is the rule's error.
      EXPECT_GT(bound, -digits) << step.q;
    }
  }
}

// What the engine says of K and, at y = spacing, of the transform, for a μ that is true.
void ExpectHolds(const Step& step, Real mu, double c, double spacing, double digits,
                 double& worst) {
  const double power = Power(step, c);
  const Real log_whole = step.add || power < 1 ? std::log(exact::Moment(step.q, mu, power).real())
                                               : exact::LogMoment(step.q, mu, power);
  const auto near = [&](Real found, Real truth, Real error, const char* what) {
    EXPECT_LE(std::fabs(found - truth), error)
        << what << ": q " << step.q << " mu " << step.mu << " c " << c << " digits " << digits;
    worst = std::fmax(worst, static_cast<double>(std::fabs(found - truth)));
  };
  StepOnLine found;
  double work = 1e7;
  if (!PutOnLine(step, c, spacing, 6, digits, work, found)) return;  // lost in its error
  near(found.log_mgf, log_whole, found.log_mgf_error, "K");
  for (size_t k = 0; k < 6; ++k) {
    const Real y = spacing * static_cast<Real>(k + 1);
    const exact::Complex ratio =
        std::log(exact::Moment(step.q, mu, {power, step.add ? -y : y}, log_whole));
    near(found.log_modulus[k], ratio.real(), found.error[k], "modulus");
    near(found.phase[k], ratio.imag(), found.error[k], "phase");
  }
  Tilt tilt;
  if (step.q == 1) {
    tilt = TiltUnsampled(step, power);
  } else {
    const Rule rule = RuleFor(step, power, 0, digits);
    std::vector<double> loss(Padded(rule.size)), scratch(Padded(rule.size));
    FillLoss(NodesOf(step, rule, nullptr), loss.data());
    tilt = TiltAt(step, rule, loss.data(), power, scratch.data());
  }
  near(tilt.log_mgf, log_whole, tilt.error, "K under a tilt");
}

const Step kSteps[] = {{0.3, 1.5, 0, 1, false},
                       {0.9, 0.7, 0, 1, false},
                       {0.01, 2.5, 0, 1, false},
                       {0.3, 1.5, 0, 1, true},
                       {1, 0.8, 0, 1, false}};

TEST(StepBounds, HoldWhereTheQuadratureIsTheLargestError) {
  for (const Step& step : kSteps) {
    double worst = 0;
    for (const double digits : {2.0, 4.0, 6.0, 8.0}) {
      for (const double c : {1.5, -0.25, -0.75}) ExpectHolds(step, step.mu, c, 0.25, digits, worst);
    }
    EXPECT_TRUE(worst > 1e-6 || step.q == 1) << step.q << ": no rule was coarse";
  }
}

TEST(StepBounds, HoldWhereTheWidthOfMuIsTheLargestError) {
  for (Step step : kSteps) {
    step.spread = 1e-5;
    double worst = 0;
    for (const double off : {-1e-5, 1e-5}) {
      for (const double c : {1.5, -0.25, -0.75})
        ExpectHolds(step, step.mu * (1 + static_cast<Real>(off)), c, 0.25, 40, worst);
    }
    EXPECT_GT(worst, 1e-7) << step.q;
  }
}

// Exponents in the thousands that cancel, so that K itself is small.
TEST(StepBounds, HoldWhereRoundingIsTheLargestError) {
  for (int i = 0; i < 12; ++i) {
    const double log_q = -60 - 7.3 * i, mu = 1 + 0.13 * i;
    const double c = std::ldexp(std::round(2 * (3 - log_q) / (mu * mu) * 16), -4);
    double worst = 0;
    ExpectHolds({std::exp(log_q), mu, 0, 1, false}, mu, c, 0.02, 40, worst);
    EXPECT_GT(worst, 5e-14) << i;
  }
}

// 1 + c is exact at the order at which K is known, but c itself is some percent off next to 1e-15:
// ε once was bounded by K at the one and divided by the other.
TEST(ChernoffBounds, HoldAtOrdersThatRoundingMoves) {
  std::mt19937_64 random(7);
  const double epsilon = 1e15;
  const Step step{1, std::sqrt(2 * epsilon), 0, 1, false};
  for (int i = 0; i < 2000; ++i) {
    const double start = std::exp(-std::uniform_real_distribution<double>(14, 36)(random));
    const Limits limits;
    Tilting tilting({step}, limits);
    // The median of the loss, N(μ²/2, μ²), is ε; δ is about a half there.
    EXPECT_GE(EpsilonUpByChernoff(tilting, 0.49, start), epsilon) << start;
    EXPECT_EQ(OrderShowingBelow(tilting, 0.4, epsilon, start), 0) << start;
  }
}

// μ = 1/z is a rounding off: the upper bound's is never less, the lower one's never more, and one
// line for both covers both.
TEST(StepsOfBounds, MuEnclosesTheInverseOfTheNoiseMultiplier) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> uniform(0.1, 30);
  for (int i = 0; i < 1000; ++i) {
    const double z = uniform(random);
    for (const double width : {0.0, 1e-15, 1e-6}) {
      const Interval interval{z, z * (1 + width)};
      const Widths widths = StepsOf({{0.5, interval, 1}}, false);
      const Step &upper = widths.upper[0], &lower = widths.lower[0];
      EXPECT_GE(static_cast<Real>(upper.mu) * interval.lower(), 1) << z;
      EXPECT_LE(static_cast<Real>(lower.mu) * interval.upper(), 1) << z;
      EXPECT_EQ(widths.narrow, width < 1e-13);
      if (widths.narrow) {
        EXPECT_LE(upper.mu * (1 - static_cast<Real>(upper.spread)) * interval.upper(), 1) << z;
      }
    }
  }
}

}  // namespace
}  // namespace dpledger::accountant::contour
