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

// Asks a line that is laid with `room` and `share` for log δ around the ε it is laid for. The
// greatest distance of the truth from the middle of the interval.
double WorstOnLine(double c, double room, double share) {
  const Limits limits;
  Tilting tilting({{1, kMu, 0, kCount, false}}, limits);
  const Saddle saddle = tilting.At(c);
  const double epsilon = saddle.Epsilon();
  std::optional<Line> line = *Line::Through(tilting, saddle, epsilon, room, nullptr, share);
  EXPECT_TRUE(line.has_value());
  double worst = 0;
  for (int i = -20; i <= 20; ++i) {
    const double at = std::fmax(0, epsilon + 0.1 * i * line->deviation());
    const Line::LogDelta found = line->LogDeltaAt(at);
    const Real log_delta =
        std::log(exact::RemoveDelta(1, kMu * std::sqrt(static_cast<Real>(kCount)), at));
    EXPECT_LE(found.lower, log_delta) << "c " << c << ", epsilon " << at;
    EXPECT_GE(found.upper, log_delta) << "c " << c << ", epsilon " << at;
    const Real middle = (static_cast<Real>(found.lower) + found.upper) / 2;
    worst = std::fmax(worst, static_cast<double>(std::fabs(log_delta - middle)));
  }
  return worst;
}

// A line that ends too early. Its period is long, so that no alias hides what is missing.
TEST(LineBounds, HoldWhereTheEndIsTheLargestError) {
  for (const double c : {0.7, 2.0, 5.0}) {
    for (const double share : {1e-1, 1e-2, 1e-4}) EXPECT_GT(WorstOnLine(c, 8, share), 1e-3 * share);
  }
}

// A period that is too short: the sum is too great.
TEST(LineBounds, HoldWhereTheAliasesAreTheLargestError) {
  for (const double c : {0.7, 2.0, 5.0}) {
    for (const double room : {0.4, 0.6, 0.8}) EXPECT_GT(WorstOnLine(c, room, 1e-12), 1e-12);
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

// The quadrature in t with a few nodes: K, the modulus and the phase of the transform.
TEST(StepBounds, HoldWhereTheQuadratureIsTheLargestError) {
  for (const Step& step : {Step{0.3, 1.5, 0, 1, false}, Step{0.9, 0.7, 0, 1, false},
                           Step{0.01, 2.5, 0, 1, false}, Step{0.3, 1.5, 0, 1, true}}) {
    const double c = 1.5, power = Power(step, c), spacing = 0.25;
    const Real whole = exact::Moment(step.q, step.mu, power).real();
    double worst = 0;
    for (const double digits : {2.0, 4.0, 6.0, 8.0}) {
      StepOnLine found;
      double work = 1e7;
      if (!PutOnLine(step, c, spacing, 6, digits, work, found)) continue;  // lost in its error
      const Real off = std::fabs(found.log_mgf - std::log(whole));
      EXPECT_LE(off, found.log_mgf_error) << step.q << " " << digits;
      worst = std::fmax(worst, static_cast<double>(off));
      for (size_t k = 0; k < 6; ++k) {
        const Real y = spacing * static_cast<Real>(k + 1);
        const exact::Complex ratio =
            std::log(exact::Moment(step.q, step.mu, {power, step.add ? -y : y}) / whole);
        EXPECT_LE(std::fabs(found.log_modulus[k] - ratio.real()), found.error[k])
            << step.q << " " << digits << " y " << y;
        EXPECT_LE(std::fabs(found.phase[k] - ratio.imag()), found.error[k])
            << step.q << " " << digits << " y " << y;
      }
      const Rule rule = RuleFor(step, power, 0, digits);
      std::vector<double> loss(Padded(rule.size)), scratch(Padded(rule.size));
      FillLoss(NodesOf(step, rule, nullptr), loss.data());
      const Tilt tilt = TiltAt(step, rule, loss.data(), power, scratch.data());
      EXPECT_LE(std::fabs(tilt.log_mgf - std::log(whole)), tilt.error) << step.q << " " << digits;
    }
    EXPECT_GT(worst, 1e-7) << step.q << ": no rule was coarse";
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
      EXPECT_GE(static_cast<Real>(upper.mu) * interval.lower, 1) << z;
      EXPECT_LE(static_cast<Real>(lower.mu) * interval.upper, 1) << z;
      EXPECT_EQ(widths.narrow, width < 1e-13);
      if (widths.narrow) {
        EXPECT_LE(upper.mu * (1 - static_cast<Real>(upper.spread)) * interval.upper, 1) << z;
      }
    }
  }
}

}  // namespace
}  // namespace dpledger::accountant::contour
