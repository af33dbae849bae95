// Steps without the outcomes far out: each bound of a cut against sums in long
// double, with a cut so low that it is the largest error; and ε at random
// settings against a contour integral in long double, that shares nothing with
// the accountant's.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <random>
#include <vector>

#include "accountant/accountant.h"
#include "accountant/contour/cut_steps.h"
#include "accountant/contour/envelope.h"
#include "accountant/contour/saddle.h"
#include "accountant/contour/step.h"
#include "tests/accountant/exact_gaussian.h"

namespace dpledger::accountant::contour {
namespace {

using exact::Complex;
using exact::Real;

constexpr Real kPi = 3.14159265358979323846264338327950288L;

Real Kept(const Cut& cut, Real t) {
  return cut.exists() ? std::exp(-std::exp((t - cut.at) / cut.width)) : 1;
}

// A(w) - 1 of the step with its cut: E[N((1+u)^w - 1)] - wE[u] - E[1 - N], term
// by term.
Complex CutNearOne(const Step& step, Complex w, Real kStep = 1.0L / 128) {
  const Real farthest = step.cut.at + 5 * step.cut.width, q = step.q, mu = step.mu;
  Complex sum = 0;
  for (Real i = std::floor(-40 / kStep); i * kStep < farthest + mu + 12; ++i) {
    const Real t = i * kStep, v = mu * t - mu * mu / 2, kept = Kept(step.cut, t);
    const Complex wl = w * exact::Loss(q, mu, t);
    // e^{wl} - 1 by its half angle, which keeps its digits.
    const Complex half = std::exp(wl / 2.0L);
    const Complex risen =
        std::abs(wl) < 0.01L
            ? wl * (1.0L +
                    wl / 2.0L *
                        (1.0L +
                         wl / 3.0L *
                             (1.0L +
                              wl / 4.0L *
                                  (1.0L + wl / 5.0L * (1.0L + wl / 6.0L * (1.0L + wl / 7.0L))))))
            : half * half - 1.0L;
    const Complex term = (kept > 0 ? kept * risen : 0) - w * q * std::expm1(v) - (1 - kept);
    sum += std::exp(-t * t / 2) * term;
  }
  return sum * kStep / std::sqrt(2 * kPi);
}

Complex Log1P(Complex x) {
  if (std::abs(x) > 0.001L) return std::log(1.0L + x);
  return x * (1.0L -
              x / 2.0L *
                  (1.0L - x * 2.0L / 3.0L * (1.0L - x * 3.0L / 4.0L * (1.0L - x * 4.0L / 5.0L))));
}

// Cuts among the outcomes that count.
const Step kLow[] = {
    {0.3, 1.5, 0, 1, false, nullptr, {4, 0.3}},    {0.05, 0.7, 0, 1, false, nullptr, {5, 0.2}},
    {0.3, 1.5, 0, 1, true, nullptr, {4, 0.25}},    {1e-3, 0.01, 0, 1, false, nullptr, {4.5, 0.4}},
    {1e-3, 0.01, 0, 1, true, nullptr, {4.5, 0.4}}, {1e-3, 0.01, 0, 1, false, nullptr, {5, 0.05}},
    {0.3, 0.1, 0, 1, false, nullptr, {5, 0.05}}};

// The greatest distance of K from the truth, at y = k·spacing of a line whose
// rule has `digits`.
double WorstOfSums(const Step& step, double c, double spacing, double digits) {
  const Real power = Power(step, c), level = Log1P(CutNearOne(step, power)).real();
  StepOnLine found;
  double work = 1e9;
  if (!PutOnLine(step, c, spacing, 4, digits, work, found)) return 0;  // lost in its error
  EXPECT_LE(std::fabs(found.log_mgf - level), found.log_mgf_error) << step.q << " " << c;
  for (size_t k = 0; k < 4; ++k) {
    const Real y = spacing * static_cast<Real>(k + 1);
    const Complex log = Log1P(CutNearOne(step, {power, step.add ? -y : y})) - level;
    EXPECT_LE(std::fabs(found.log_modulus[k] - log.real()), found.error[k])
        << step.q << " " << c << " " << y << " " << digits;
    EXPECT_LE(std::fabs(found.phase[k] - log.imag()), found.error[k])
        << step.q << " " << c << " " << y << " " << digits;
  }
  return static_cast<double>(std::fabs(found.log_mgf - level));
}

TEST(Cut, SumsAreWithinTheirErrors) {
  int large = 0;
  for (const Step& step : kLow) {
    for (const double c : {0.5, 2.0, 7.0}) {
      // The outcomes past the cut are the largest error, or the rule is.
      large += WorstOfSums(step, c, 0.1, 40) > 1e-9;
      for (const double digits : {1.0, 2.0, 4.0, 6.0}) {
        for (const double spacing : {0.1, 3.0, 1e3, 1e5}) WorstOfSums(step, c, spacing, digits);
      }
      const Limits limits;
      Tilting tilting({step}, limits);
      const Saddle at = tilting.At(c);
      const Real level = Log1P(CutNearOne(step, Power(step, c))).real();
      EXPECT_LE(std::fabs(at.log_mgf - level), at.error) << step.q << " " << c;
    }
  }
  EXPECT_GT(large, 12);
}

TEST(Cut, EnvelopeIsAboveTheTransform) {
  for (Step step : {Step{1e-7, 0.5, 0, 0x1p45, false, nullptr, {14, 0.1}},
                    Step{1e-7, 0.5, 0, 0x1p45, true, nullptr, {14, 0.1}},
                    Step{1e-9, 0.01, 0, 0x1p50, true, nullptr, {20, 0.05}}}) {
    for (const double c : {3.0, 1e3, 1e5}) {
      const Real power = Power(step, c), level = Log1P(CutNearOne(step, power)).real();
      Envelope envelope(step, c, 0, 40);
      size_t height = 3;
      double least = 0;
      const double deviation = step.q * step.mu * std::sqrt(step.count);
      for (const double wanted : {0.3, 2.0, 8.0}) {
        const double y = wanted / deviation;
        const double bound = step.count * envelope.LogBound(y, height);
        for (const Real further : {1.0L, 1.5L, 3.0L}) {
          const Complex at = Log1P(CutNearOne(step, {power, y * further}));
          EXPECT_GE(bound, static_cast<Real>(step.count) * (at.real() - level))
              << step.q << " " << c << " " << y;
        }
        least = bound;
      }
      EXPECT_LT(least, -10) << step.q << " " << c;
    }
  }
}

TEST(Cut, LeavesOutALittleOfDelta) {
  for (const double delta : {1e-5, 1e-100, 1e-300}) {
    for (const double mu : {1e-5, 1.0, 30.0}) {
      for (const bool add : {false, true}) {
        const Step step{1e-6, mu, 0, 1e12, add};
        const CutSteps cut = WithCuts({step}, delta);
        Real left_out = 0;
        constexpr Real kStep = 1.0L / 256;
        for (Real t = -10; t < 60 + mu; t += kStep) {
          const Real x = std::exp((t - cut.steps[0].cut.at) / cut.steps[0].cut.width);
          const Real without = std::exp(-t * t / 2), with = std::exp(-(t - mu) * (t - mu) / 2);
          left_out -= (add ? without : (1 - step.q) * without + step.q * with) * std::expm1(-x);
        }
        left_out *= step.count * kStep / std::sqrt(2 * kPi);
        EXPECT_GE(cut.left_out, left_out) << delta << " " << mu;
        EXPECT_LE(left_out, 1e-8 * delta) << delta << " " << mu;
        EXPECT_LE(cut.left_out, 1.1e-9 * delta) << delta << " " << mu;
      }
    }
  }
}

// δ(ε) of `count` steps, by a sum along the line through the saddle of the
// measure that is cut where the rest matters to δ by less than 1e-9.
class ExactLine {
 public:
  ExactLine(Step step, double delta) : step_(step) {
    const Real reach = std::sqrt(2 * (std::log(step.count) - std::log(delta) + 28));
    step_.cut = {static_cast<double>(reach + 1 + (step.add ? 0 : step.mu)), 0.02};
  }
  Real Delta(Real epsilon) const {
    Real low = std::log(1e-3L), high = std::log(1e13L);
    while (high - low > 1e-3L) {
      const Real a = (2 * low + high) / 3, b = (low + 2 * high) / 3;
      const bool falls = LogIntegrand(std::exp(a), epsilon) > LogIntegrand(std::exp(b), epsilon);
      (falls ? low : high) = falls ? a : b;
    }
    const Real c = std::exp((low + high) / 2), h = c * 1e-3L, level = LogIntegrand(c, epsilon);
    const Real curvature =
        (LogIntegrand(c + h, epsilon) - 2 * level + LogIntegrand(c - h, epsilon)) / (h * h);
    const Real spacing = 0.2L / std::sqrt(curvature);
    Real sum = 0.5L;  // in units of the node at c
    for (int k = 1; k < 4000; ++k) {
      const Complex z(c, k * spacing);
      const Complex term =
          std::exp(static_cast<Real>(step_.count) * Log1P(CutNearOne(step_, Of(z), kStep)) -
                   z * epsilon - level) /
          (z * (z + 1.0L));
      sum += term.real();
      if (k > 40 && std::abs(term) < 1e-15L * std::fabs(sum)) break;
    }
    return std::exp(level) * sum * spacing / kPi;
  }

 private:
  static constexpr Real kStep = 1.0L / 24;
  Complex Of(Complex z) const { return step_.add ? -z : z + 1.0L; }
  Real LogIntegrand(Real c, Real epsilon) const {
    const Real k = step_.count * Log1P(CutNearOne(step_, Of(c), kStep)).real() - c * epsilon;
    return std::isfinite(k) ? k - std::log(c) - std::log1p(c) : 1e300L;
  }
  Step step_;
};

// So far apart are δ at an interval's ends and the one that was asked for, in
// units of it.
constexpr Real kOfLine = 1e-7L;

TEST(Cut, EnclosesTheContourOfSumsInLongDouble) {
  std::mt19937_64 random(31);
  const auto log_uniform = [&](double low, double high) {
    return low * std::pow(high / low, std::uniform_real_distribution<double>()(random));
  };
  int narrow = 0;
  for (int i = 0; i < 9; ++i) {
    const double q = log_uniform(1e-13, 1e-6),
                 z = i % 3 == 0 ? log_uniform(0.15, 1) : log_uniform(2, 1e4);
    const auto count = static_cast<uint64_t>(log_uniform(1e13, 0x1p53));
    const double delta = log_uniform(1e-290, 1e-15);
    Composition composition;
    composition.steps.push_back({q, {z, z}, count});
    for (const bool add : {false, true}) {
      Options options;
      options.method = Method::kContour;
      const absl::StatusOr<Answer> answer =
          ComputeEpsilon(composition, delta, options, add ? Direction::kAdd : Direction::kRemove);
      ASSERT_TRUE(answer.ok()) << answer.status();
      if (answer->value.RelativeGap() > 1e-4) continue;
      ++narrow;
      const ExactLine exact({q, 1 / z, 0, static_cast<double>(count), add}, delta);
      EXPECT_GE(exact.Delta(answer->value.lower()), delta * (1 - kOfLine))
          << q << " " << z << " " << count << " " << delta << " " << add;
      EXPECT_LE(exact.Delta(answer->value.upper()), delta * (1 + kOfLine))
          << q << " " << z << " " << count << " " << delta << " " << add;
    }
  }
  EXPECT_GT(narrow, 9);
}

}  // namespace
}  // namespace dpledger::accountant::contour
