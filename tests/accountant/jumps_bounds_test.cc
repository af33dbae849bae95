// The bounds of accountant/contour by the largest jump, as bounds: each error is made the largest
// one by nodes, ends and periods that are far too coarse, and the truth must still lie inside.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <utility>
#include <vector>

#include "accountant/contour/ladder.h"
#include "accountant/contour/measure.h"
#include "accountant/contour/part.h"
#include "accountant/contour/shell.h"
#include "accountant/contour/shells_on_line.h"
#include "tests/accountant/exact_gaussian.h"

namespace dpledger::accountant::contour {
namespace {

using exact::Complex;
using exact::Real;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const Real kSqrtTwoPi = std::sqrt(2 * std::acos(-1.0L));

struct Case {
  Step step;
  Window window;
};
const std::vector<Case>& Cases() {
  static const std::vector<Case>* cases =
      new std::vector<Case>{{{1e-4, 1, 0, 1, false}, {3, 5, 0.2}},
                            {{1e-4, 1, 0, 1, false}, {-kInfinity, 5, 0.2}},
                            {{0.02, 2, 0, 1, false}, {1.5, 2.5, 0.125}},
                            {{0.02, 2, 0, 1, false}, {-kInfinity, 2.5, 0.125}},
                            {{0.3, 0.4, 0, 1, false}, {2, 4, 0.4}},
                            {{0.01, 1.2, 0, 1, true}, {3, kInfinity, 0.2}},
                            {{0.01, 1.2, 0, 1, true}, {1, 3, 0.2}},
                            {{0.3, 0.4, 0, 1, true}, {-kInfinity, kInfinity, 0.5}}};
  return *cases;
}

// N(t; high) - N(t; low), or N(t; low).
Real Cut(const Window& window, bool below, Real t) {
  const auto log_cut = [&](Real at) { return -std::exp((t - at) / window.width); };
  if (below) return std::exp(log_cut(window.low));
  const Real high = std::isfinite(window.high) ? log_cut(window.high) : 0.0L;
  if (!std::isfinite(window.low)) return std::exp(high);
  return -std::exp(high) * std::expm1(log_cut(window.low) - high);
}

// E[cut (1+u)^power], on a line and nodes far finer than the accountant's.
Complex Transform(const Case& of, bool below, Complex power) {
  Complex sum = 0;
  const Real h = 1.0L / 512;
  for (Real i = -14 / h; i * h < 20; ++i) {
    const Real t = i * h, l = exact::Loss(of.step.q, of.step.mu, t);
    sum += Cut(of.window, below, t) * std::exp(power * l - t * t / 2);
  }
  return sum * h / kSqrtTwoPi;
}

// δ(ε) of one step's measure.
Real Delta(const Case& of, Real epsilon) {
  Real sum = 0;
  const Real h = 1.0L / 2048;
  for (Real i = -14 / h; i * h < 16; ++i) {
    const Real t = i * h, l = exact::Loss(of.step.q, of.step.mu, t);
    const Real loss = of.step.add ? -l : l, weight = of.step.add ? 0 : l;
    if (loss > epsilon)
      sum -= Cut(of.window, false, t) * std::exp(weight - t * t / 2) * std::expm1(epsilon - loss);
  }
  return sum * h / kSqrtTwoPi;
}

JumpWork& Unlimited() {
  static JumpWork work{std::numeric_limits<double>::infinity()};
  return work;
}

TEST(ShellBounds, IntegralsAreAboveTheTransformAtEveryHeightAndLittleAboveAtTheBest) {
  for (const Case& of : Cases()) {
    const Shell shell(of.step, of.window, 12);
    for (const bool below : {false, true}) {
      if (below && !shell.has_below()) continue;
      for (const double c : {0.5, 3.0, 20.0}) {
        const double power = Power(of.step, c);
        for (const double y : {0.0, 3.0, 40.0, 400.0}) {
          const Real truth = std::log(std::abs(Transform(of, below, {power, y})));
          double best = kInfinity;
          for (double eta = shell.GreatestHeight(); eta > 1e-4; eta *= 0.7) {
            const double bound = shell.LogIntegral(below, power, eta, -y);
            // Above what is left in long double, the truth is known.
            if (truth > -40) {
              EXPECT_GE(bound, truth) << of.step.q << " " << c << " " << y;
            }
            best = std::fmin(best, bound);
          }
          if (y == 0) {
            EXPECT_LE(best, truth + 1);
          }
        }
      }
    }
  }
}

// ∫ of the moduli's product on Im t = eta, each cell's factors at their best: far below what sums
// of suprema over cells may be, where the angle turns fast.
Real IntegralAtHeight(const Case& of, double power, double eta, double y) {
  Real sum = 0;
  const Real h = 1.0L / 256, turn = of.step.mu * static_cast<Real>(eta);
  const Real cosine = std::cos(eta / static_cast<Real>(of.window.width));
  for (Real i = -12 / h; i * h < 12; ++i) {
    const Real t = i * h, v = of.step.mu * t - of.step.mu * static_cast<Real>(of.step.mu) / 2;
    const Complex one_more = 1 - static_cast<Real>(of.step.q) +
                             static_cast<Real>(of.step.q) * std::exp(Complex(v, turn));
    const auto exponent = [&](Real at) { return cosine * std::exp((t - at) / of.window.width); };
    Real cut = std::isfinite(of.window.high) ? std::exp(-exponent(of.window.high)) : 1;
    if (std::isfinite(of.window.low)) cut = (cut - std::exp(-exponent(of.window.low))) / cosine;
    sum +=
        cut * std::exp(power * std::log(std::abs(one_more)) + y * std::arg(one_more) - t * t / 2);
  }
  return std::exp(static_cast<Real>(eta) * eta / 2) * sum * h / kSqrtTwoPi;
}

TEST(ShellBounds, IntegralsAreAboveTheIntegralOfTheModuliAtTheSameHeight) {
  for (const Case& of : Cases()) {
    const Shell shell(of.step, of.window, 12);
    for (const double c : {0.5, 20.0}) {
      const double power = Power(of.step, c);
      for (const double y : {-3e4, -400.0, -20.0, 0.0, 20.0, 3e3, 2e4}) {
        for (double eta = shell.GreatestHeight(); eta > 1e-2; eta *= 0.4) {
          const Real truth = std::log(IntegralAtHeight(of, power, eta, y));
          EXPECT_GE(shell.LogIntegral(false, power, eta, y), truth - 1e-9L)
              << of.step.q << " " << c << " " << y << " " << eta;
        }
      }
    }
  }
}

TEST(ShellBounds, EnvelopesAreAboveTheTransformAndNearlyEqualAtZero) {
  for (const Case& of : Cases()) {
    if (std::isfinite(of.window.low)) continue;
    const Shell shell(of.step, of.window, 12);
    for (const double c : {0.5, 3.0, 20.0}) {
      const double power = Power(of.step, c);
      const double scale = static_cast<double>(std::log(Transform(of, false, power).real()));
      double nodes = 0;
      for (const double digits : {1.0, 4.0, 20.0}) {
        for (const double y : {0.0, 2.0, 10.0}) {
          const Real truth = std::log(std::abs(Transform(of, false, {power, y}))) - scale;
          const double greatest = std::fmin(shell.GreatestHeight(), shell.GreatestEnvelopeHeight());
          for (double eta = greatest; eta > 1e-3; eta *= 0.5) {
            EXPECT_GE(shell.LogEnvelope(power, scale, eta, y, digits, nodes), truth - 1e-15L)
                << of.step.q << " " << c << " " << y << " " << eta;
          }
        }
        const double flat = shell.LogEnvelope(power, scale, 1e-6, 0, digits, nodes);
        EXPECT_LE(flat, 4 * std::exp(-digits) + 1e-10) << of.step.q << " " << c;
      }
    }
  }
}

// Nodes so far apart that the quadrature's error is the largest; at y = 0 and up the line.
TEST(ShellBounds, HoldWhereTheQuadratureIsTheLargestError) {
  int coarse = 0;
  for (const Case& of : Cases()) {
    Shell shell(of.step, of.window, 12);
    const double eta = 0.6 * shell.GreatestHeight();
    for (const double need : {2.0, 4.0, 8.0, 16.0}) {
      ASSERT_TRUE(shell.Lay(2 * std::acos(-1.0) * eta / need));
      for (const bool below : {false, true}) {
        if (below && !shell.has_below()) continue;
        for (const double c : {0.5, 3.0, 20.0}) {
          const double power = Power(of.step, c);
          const CutSum sum = shell.At(below, power, eta, 0, nullptr);
          const Real truth = Transform(of, below, power).real();
          const Real off = std::fabs(std::exp(static_cast<Real>(sum.log)) / truth - 1);
          if (sum.Error() < 0.5) {
            EXPECT_LE(off, 1.1 * sum.Error()) << of.step.q << " " << c;
          }
          coarse += off > 1e-6 && sum.Error() < 0.5;
        }
      }
    }
  }
  EXPECT_GT(coarse, 10) << "no quadrature was coarse";
}

// A range that ends too early.
TEST(ShellBounds, HoldWhereTheEndsAreTheLargestError) {
  int short_ends = 0;
  for (const Case& of : Cases()) {
    for (const double margin : {0.5, 1.5, 2.5, 4.0}) {
      Shell shell(of.step, of.window, margin);
      const double eta = 0.6 * shell.GreatestHeight();
      ASSERT_TRUE(shell.Lay(2 * std::acos(-1.0) * eta / 60));
      for (const bool below : {false, true}) {
        if (below && !shell.has_below()) continue;
        const double power = Power(of.step, 2);
        const CutSum sum = shell.At(below, power, eta, 0, nullptr);
        const Real truth = Transform(of, below, power).real();
        const Real computed = std::exp(static_cast<Real>(sum.log));
        EXPECT_LE(std::fabs(truth - computed), 1.001 * sum.Error() * computed) << margin;
        short_ends += std::fabs(truth / computed - 1) > 1e-6;
      }
    }
  }
  EXPECT_GT(short_ends, 8) << "no range was short";
}

// Nodes in t so far apart that the quadrature is the largest error on the line, near y = 0 and
// where the transform is so small that sums are lost in their errors; runs of a few steps.
TEST(ShellsOnLineBounds, HoldWhereTheQuadratureIsTheLargestError) {
  int coarse = 0, answered = 0, lost = 0;
  for (const Case& of : Cases()) {
    for (const auto& [count, spacing] :
         {std::pair{1.0, 1.5}, {3.0, 1.5}, {40.0, 1.5}, {1.0, 20.0}, {3.0, 20.0}}) {
      constexpr double kC = 2;
      constexpr size_t kNodes = 4;
      Step step = of.step;
      step.count = count;
      const auto raised = [&](Complex z) {
        Complex product = 1;
        for (int i = 0; i < step.count; ++i) product *= z;
        return product;
      };
      std::vector<Complex> truths;
      for (size_t k = 0; k <= kNodes; ++k) {
        const Real y = spacing * static_cast<Real>(k);
        const Complex power(Power(step, kC), step.add ? -y : y);
        const Complex shell = Transform(of, false, power);
        if (std::isfinite(of.window.low)) {
          const Complex below = Transform(of, true, power);
          truths.push_back(raised(below + shell) - raised(below));
        } else {
          truths.push_back(raised(shell));
        }
      }
      for (const double digits : {-2.0, 0.0, 2.0, 6.0, 30.0}) {
        Measure measure({step}, {of.window}, 34, Unlimited());
        const SumsAt sums = measure.Sums(kC);
        const auto line = ShellsOnLine::Put(measure, sums, kC, spacing, kNodes, digits, {});
        ASSERT_TRUE(line.ok());
        if (!line->has_value()) continue;
        ++answered;
        for (size_t k = 0; k <= kNodes; ++k) {
          const Complex truth = truths[k];
          double error = 0;
          const std::complex<double> found = (*line)->At(k, error);
          const Real level = std::exp(static_cast<Real>((*line)->level()));
          const Real off = std::abs(Complex(found.real(), found.imag()) - truth / level);
          // The scale's own error comes on top.
          const Real scale = (*line)->level_error() * std::abs(truth / level) * 1.1L;
          EXPECT_LE(off, error + scale + 1e-15L)
              << of.step.q << " " << count << " " << spacing << " " << digits << " " << k;
          lost += found == 0.0;
          coarse += off > 1e-6L * std::abs(truth / level);
        }
      }
    }
  }
  EXPECT_GT(answered, 40);
  EXPECT_GT(coarse, 30) << "no nodes were far apart";
  EXPECT_GT(lost, 5) << "no sum was lost in its error";
}

// Where one cut's exponent is beyond the range of doubles while the other's counts: the shell lost
// mass beyond 700 widths, without an error that said so.
TEST(ShellBounds, HoldWhereTheCutsAreFarApart) {
  const Step step = {0.9, 17.6, 0, 1, false};
  const double width = 0.25 / step.mu;
  for (const double apart : {20.0, 300.0, 700.0, 712.0, 730.0, 800.0, 1400.0}) {
    const Case of = {step, {16 - apart * width, 16, width}};
    Shell shell(of.step, of.window, 12);
    ASSERT_TRUE(shell.Lay(width / 10));
    for (const double power : {-0.5, 1.0, 1.5}) {
      const Real truth = Transform(of, false, power).real();
      const double eta = 0.75 * shell.GreatestHeight();
      const CutSum found = shell.At(false, power, eta, 0, nullptr);
      EXPECT_LT(found.Error(), 1e-9) << apart << " " << power;
      EXPECT_NEAR(static_cast<double>(std::exp(found.log - std::log(truth))), 1,
                  found.Error() + 1e-15)
          << apart << " " << power;
      EXPECT_GE(shell.LogIntegral(false, power, eta, 0), std::log(truth)) << apart << " " << power;
    }
  }
}

// Shares so great that what is above the first cut and below the last is much of δ. Add has no top
// cut, whose bound would make up for one that is missing below.
TEST(LadderBounds, HoldWhereWhatIsLeftOutIsTheLargestError) {
  int wide[2] = {}, answered[2] = {};
  for (const bool add : {false, true}) {
    for (const double q : {1e-5, 1e-3, 0.02}) {
      for (const double z : {0.6, 1.0, 2.0}) {
        for (const double epsilon : {0.0, 1e-4, 0.01, 0.3, 2.0}) {
          const Widths steps = EndsOfWidth({{q, {z, z}, 1}}, add);
          const Real mu = 1 / static_cast<Real>(z);
          if (add && epsilon >= -std::log1p(-q)) continue;  // δ = 0
          const Real truth =
              add ? exact::AddDelta(q, mu, epsilon) : exact::RemoveDelta(q, mu, epsilon);
          if (!(truth > 1e-40L)) continue;
          for (const double share : {0.7, 0.0, -1.0, -3.0, -8.0}) {
            const auto found = DeltaByJumpsTo(share, steps, epsilon, {});
            ASSERT_TRUE(found.ok());
            if (!found->has_value()) continue;
            ++answered[add];
            EXPECT_LE((*found)->lower(), truth * (1 + 1e-12L))
                << add << q << " " << z << " " << epsilon;
            EXPECT_GE((*found)->upper(), truth * (1 - 1e-12L))
                << add << q << " " << z << " " << epsilon;
            wide[add] += (*found)->upper() - (*found)->lower() > 0.1 * truth;
          }
        }
      }
    }
  }
  EXPECT_GT(answered[false], 60);
  EXPECT_GT(wide[false], 20) << "no share was great";
  EXPECT_GT(answered[true], 20);
  EXPECT_GT(wide[true], 5) << "no share was great";
}

// Goals so high that aliases and the line's end are a large share of δ.
TEST(PartBounds, HoldWhereAliasesAndTheEndAreTheLargestErrors) {
  int wide = 0, answered = 0;
  for (const Case& of : Cases()) {
    for (const double epsilon : {0.001, 0.02, 0.3}) {
      const Real truth = Delta(of, epsilon);
      if (!(truth > 1e-18L)) continue;
      for (const double share : {0.0, -1.5, -3.0, -6.0, -12.0}) {
        Measure measure({of.step}, {of.window}, 34, Unlimited());
        const auto part =
            Part::Lay(measure, epsilon, static_cast<double>(std::log(truth)) + share, 1 << 14, {});
        ASSERT_TRUE(part.ok());
        if (!part->has_value()) continue;
        ++answered;
        const PartOfDelta at = (*part)->At(epsilon);
        EXPECT_LE(at.lower, truth * (1 + 1e-7L)) << of.step.q << " " << epsilon << " " << share;
        EXPECT_GE(at.upper, truth * (1 - 1e-7L)) << of.step.q << " " << epsilon << " " << share;
        wide += at.upper - at.lower > 1e-3 * truth;
        // Far from where it was laid it holds too.
        for (const double times : {0.3, 2.0}) {
          const double elsewhere = times * epsilon;
          const Real there = Delta(of, elsewhere);
          const PartOfDelta found = (*part)->At(elsewhere);
          EXPECT_LE(found.lower, there * (1 + 1e-6L) + 1e-25L) << elsewhere;
          EXPECT_GE(found.upper, there * (1 - 1e-6L) - 1e-25L) << elsewhere;
        }
      }
    }
  }
  EXPECT_GT(answered, 40);
  EXPECT_GT(wide, 10) << "no goal was high";
}

// Chernoff's bound, with which what is below the last cut is neglected.
TEST(MeasureBounds, ChernoffIsAboveTheProfileEverywhere) {
  for (const Case& of : Cases()) {
    const Measure measure({of.step}, {of.window}, 34, Unlimited());
    ASSERT_TRUE(measure.ok());
    for (const double epsilon : {0.001, 0.02, 0.3}) {
      const Chernoff bound = measure.ChernoffAt(epsilon);
      for (const double at : {0.0, 0.5 * epsilon, epsilon, 2 * epsilon}) {
        EXPECT_GE(std::exp(bound.LogDeltaUp(at)), Delta(of, at) * (1 - 1e-6L)) << epsilon;
      }
    }
  }
}

// What is left of the line is bounded by this alone. The number of steps counts where y is small.
TEST(MeasureBounds, ModulusIsBelowItsBoundFromEachHeightOn) {
  double nearest = kInfinity;
  for (const Case& of : Cases()) {
    for (const double c : {0.5, 5.0}) {
      for (const double higher : {1e-3, 2.0, 8.0}) {
        const Complex power(Power(of.step, c), of.step.add ? -higher : higher);
        const bool any = std::isfinite(of.window.low);
        const Complex shell = Transform(of, false, power);
        const Complex under = any ? Transform(of, true, power) : 0;
        for (const double count : {1.0, 3.0, 40.0}) {
          Step step = of.step;
          step.count = count;
          const Measure measure({step}, {of.window}, 34, Unlimited());
          const SumsAt sums = measure.Sums(c);
          Complex product = 1, below = 1;
          for (int i = 0; i < count; ++i) product *= shell + under, below *= under;
          const Real truth = std::log(std::abs(any ? product - below : product));
          for (const double y : {higher / 4, higher}) {
            const double bound = measure.LogModulusFrom(sums, c, y);
            EXPECT_GE(bound, truth - 1e-9L) << of.step.q << " " << count << " " << c << " " << y;
            if (count == 40 && higher < 1) {
              nearest = std::fmin(nearest, bound - static_cast<double>(truth));
            }
          }
        }
      }
    }
  }
  EXPECT_LT(nearest, 1) << "no bound was near: the number of steps might be missing";
}

}  // namespace
}  // namespace dpledger::accountant::contour
