// Steps whose share of the loss is below the roundoff of A, as they are small
// or many: the truth is that of sums in long double, and of one Gaussian where
// so many steps are one.
#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "accountant/accountant.h"
#include "accountant/contour/envelope.h"
#include "accountant/contour/saddle.h"
#include "accountant/contour/step.h"
#include "tests/accountant/exact_gaussian.h"

namespace dpledger::accountant::contour {
namespace {

using exact::Complex;
using exact::Real;

// A(w) - 1 = E[(1+u)^w - 1 - wu], term by term where the exponent is small: to
// 1e-15 of it, however small.
Complex NearOne(Real q, Real mu, Complex w) {
  constexpr Real kStep = 1.0L / 16, kReach = 14;
  Complex sum = 0;
  const Real high = std::fmax(1.0L, w.real()) * mu + kReach;
  for (Real i = std::floor(-kReach / kStep); i * kStep < high; ++i) {
    const Real t = i * kStep, l = exact::Loss(q, mu, t);
    const Complex wl = w * l;
    Complex term = 0;
    if (std::abs(wl) < 1) {
      Complex power = wl * wl / 2.0L;
      for (int k = 3; k < 40; ++k, power *= wl / static_cast<Real>(k - 1)) term += power;
      // l - u.
      Real concave = 0, rest = -l * l / 2;
      for (int k = 3; k < 40; ++k, rest *= l / (k - 1)) concave += rest;
      term += w * concave;
    } else {
      term = std::exp(wl) - 1.0L - w * q * std::expm1(mu * t - mu * mu / 2);
    }
    sum += std::exp(-t * t / 2) * term;
  }
  return sum * kStep / std::sqrt(2 * std::acos(-1.0L));
}

// log(1 + x) for small x, to 1e-18 of it.
Complex Log1P(Complex x) {
  if (std::abs(x) > 0.01L) return std::log(1.0L + x);
  Complex sum = 0, power = x;
  for (int k = 1; k < 14; ++k, power *= -x) sum += power / static_cast<Real>(k);
  return sum;
}

struct Case {
  Step step;
  double c;
};
// Small steps, and many, of both directions; q near 0 and near 1.
const Case kCases[] = {{{1e-3, 1.0 / 4096, 0, 0x1p40, false}, 5},
                       {{1e-3, 1.0 / 4096, 0, 0x1p40, true}, 5},
                       {{0.3, 1.0 / 65536, 0, 0x1p36, false}, 3},
                       {{1 - 1e-9, 1.0 / 65536, 0, 0x1p32, false}, 0.5},
                       {{1 - 1e-9, 1.0 / 65536, 0, 0x1p32, true}, 0.5},
                       {{1e-7, 1, 0, 0x1p50, false}, 0.3},
                       {{1e-7, 1, 0, 0x1p50, true}, 0.3},
                       {{1e-12, 0x1p-10, 0, 0x1p53, false}, 1e4}};

// Of orders below 0, the last with so much signal that the mean of u lies far
// past A's own range.
const Case kBelowZero[] = {{{1e-3, 1.0 / 4096, 0, 0x1p40, false}, -0.5},
                           {{1e-3, 1.0 / 4096, 0, 0x1p40, true}, -0.25},
                           {{1e-7, 1, 0, 0x1p50, false}, -0.75},
                           {{1e-7, 1, 0, 0x1p50, true}, -0.75},
                           {{1e-9, 12, 0, 0x1p40, false}, -0.75}};

// K errs by what the rule for aliases may cost, not by 2^-53 for each step,
// which is up to 1.
TEST(SmallSteps, KHasItsOwnDigits) {
  std::vector<Case> cases(std::begin(kCases), std::end(kCases));
  cases.insert(cases.end(), std::begin(kBelowZero), std::end(kBelowZero));
  for (const auto& [step, c] : cases) {
    const Limits limits;
    Tilting tilting({step}, limits);
    const Saddle at = tilting.At(c);
    const Real truth = step.count * Log1P(NearOne(step.q, step.mu, Power(step, c))).real();
    EXPECT_NEAR(at.log_mgf, static_cast<double>(truth), at.error) << step.q << " " << step.mu;
    EXPECT_LT(at.error, 2e-4) << step.q << " " << step.mu;
    StepOnLine on_line;
    double work = 1e9;
    ASSERT_TRUE(PutOnLine(step, c, 1e-3, 1, 33 + std::log(step.count), work, on_line));
    EXPECT_NEAR(step.count * on_line.log_mgf, static_cast<double>(truth),
                step.count * on_line.log_mgf_error)
        << step.q << " " << step.mu;
  }
}

// A(1 + c) - 1 for c so small that u would cancel: E[(1+u)((1+u)^c - 1) - cu].
TEST(SmallSteps, KKeepsItsDigitsAtOrdersNextToZero) {
  for (const auto& [q, mu] : {std::pair{0.0125, 4.7}, {1e-9, 2.0}, {0.9, 0.01}, {1e-4, 0.5}}) {
    for (const double c : {0x1p-22, 0x1p-30, -0x1p-22}) {
      Real sum = 0;
      constexpr Real kStep = 1.0L / 16;
      for (Real t = -14; t < mu + 15; t += kStep) {
        const Real l = exact::Loss(q, mu, t), u = q * std::expm1(mu * t - mu * mu / 2);
        sum += std::exp(-t * t / 2) * ((1 + u) * std::expm1(c * l) - c * u);
      }
      const Real truth = 0x1p50L * std::log1p(sum * kStep / std::sqrt(2 * std::acos(-1.0L)));
      const Limits limits;
      Tilting tilting({{q, mu, 0, 0x1p50, false}}, limits);
      const Saddle at = tilting.At(c);
      EXPECT_NEAR(at.log_mgf, static_cast<double>(truth), at.error) << q << " " << mu << " " << c;
      EXPECT_LT(at.error, 1e-6 * std::fabs(truth) + 1e-3) << q << " " << mu << " " << c;
    }
  }
}

// The bound is above the transform at every y past where it was taken, and no
// less than about half of its logarithm: it takes E[e^{μt}]'s variance for that
// of t.
TEST(SmallSteps, EnvelopeIsAboveTheTransform) {
  for (const auto& [step, c] : kCases) {
    const Complex power = Power(step, c);
    const Complex level = Log1P(NearOne(step.q, step.mu, power));
    Envelope envelope(step, c, 0, 40);
    const Real deviation = step.q * step.mu * std::sqrt(step.count);
    size_t height = 3;
    for (const double wanted : {0.3, 2.0, 8.0}) {
      const Real y = wanted / deviation;
      const double bound = step.count * envelope.LogBound(static_cast<double>(y), height);
      Real truth = 0;
      for (const Real further : {1.0L, 1.5L, 3.0L}) {
        const Complex at =
            Log1P(NearOne(step.q, step.mu, power + Complex(0, (step.add ? -1 : 1) * y * further)));
        const Real modulus = step.count * (at - level).real();
        if (further == 1) truth = modulus;
        EXPECT_GE(bound, modulus) << step.q << " " << step.mu << " y " << wanted;
      }
      EXPECT_LE(bound, 0.5L * truth) << step.q << " " << step.mu << " y " << wanted;
    }
  }
}

// So little noise that each inclusion shows, and nothing else: the rest of the
// outcomes counts whole in the bound, those turn.
TEST(SmallSteps, EnvelopeIsAboveTheTransformWhereInclusionsShow) {
  for (const auto& [q, mu] : {std::pair{1e-12, 12.0}, {1e-6, 8.0}, {1e-10, 4.0}, {1e-9, 2.0}}) {
    for (const bool add : {false, true}) {
      const Step step{q, mu, 0, 0x1p53, add};
      for (const double c : {-0.75, -0.25, 0.5, 1.5}) {
        const Complex power = Power(step, c);
        const Complex level = Log1P(NearOne(q, mu, power));
        const Limits limits;
        Tilting tilting({step}, limits);
        tilting.At(c);
        const Tilt tilt = tilting.StepAt(0, c);
        Envelope envelope(step, c, tilt.log_mgf - tilt.error, 40);
        size_t height = 3;
        for (const double y : {0.01, 0.1, 0.3, 1.0}) {
          const double bound = envelope.LogBound(y / mu, height);
          Real least = 0;
          for (const Real further : {1.0L, 1.3L, 2.0L, 5.0L}) {
            const Complex at =
                Log1P(NearOne(q, mu, power + Complex(0, (add ? -y : y) / mu * further)));
            EXPECT_GE(bound, (at - level).real()) << q << " " << c << " " << y << " " << add;
            if (further == 1) least = (at - level).real();
          }
          if (mu > 4 && !add && c > 0 && y > 0.1) {
            EXPECT_LT(bound, 0.2L * least) << q << " " << c << " " << y;
          }
        }
      }
    }
  }
}

double GaussianEpsilon(Real mu, Real delta) {
  Real low = 0, high = 100;
  while (high - low > 1e-15L * high) {
    const Real middle = (low + high) / 2;
    (exact::RemoveDelta(1, mu, middle) > delta ? low : high) = middle;
  }
  return static_cast<double>(low);
}

// Skewness moves the loss of a Gaussian by less than 1e-7 of it here.
TEST(SmallSteps, SoManyAreOneGaussian) {
  const double delta = 1e-6, epsilon = GaussianEpsilon(1, delta);
  for (const auto& [q, z] : {std::pair{1e-3, 3e3},
                             {1e-3, 3e4},
                             {0.1, 3e4},
                             {0.1, 1e6},
                             {0.5, 1e5},
                             {0.9, 1e5},
                             {1 - 1e-12, 1e5},
                             {1 - 1e-12, 1e6}}) {
    for (const double more : {1.0, 1.001}) {
      Composition composition;
      composition.steps.push_back(
          {q, {z, z}, static_cast<uint64_t>(std::round(more * std::pow(z / q, 2)))});
      const absl::StatusOr<Answer> answer = ComputeEpsilon(composition, delta, Options());
      ASSERT_TRUE(answer.ok()) << answer.status();
      EXPECT_LT(answer->value.RelativeGap(), 1e-5) << q << " " << z;
      const Interval wider(answer->value.lower() * (1 - 1e-5), answer->value.upper() * (1 + 1e-5));
      EXPECT_EQ(wider.Contains(epsilon), more == 1) << q << " " << z << " " << epsilon;
    }
  }
}

// A setting at which a gap of 1e-4 once gave a wider interval than one of 1e-3,
// so that what was calibrated did not meet its target when it was asked about.
TEST(SmallSteps, AFinerGapIsNoWider) {
  Composition composition;
  composition.steps.push_back({0.15902926393446623, {342107.26, 342107.26}, 177404});
  double gap = 1;
  for (const double wanted : {1e-2, 1e-3, 1e-4, 1e-9}) {
    Options options;
    options.relative_gap = wanted;
    const absl::StatusOr<Answer> answer =
        ComputeEpsilon(composition, 2.1781070800326635e-14, options);
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_LE(answer->value.RelativeGap(), gap) << wanted;
    gap = answer->value.RelativeGap();
  }
  EXPECT_LE(gap, 1e-9);
}

}  // namespace
}  // namespace dpledger::accountant::contour
