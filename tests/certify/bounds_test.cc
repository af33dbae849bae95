// Each bound of the checker against direct integration in balls, with parameters that make each of
// its error terms the largest one.
#include <acb_calc.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "certify/allocation.h"
#include "certify/copies.h"
#include "certify/proof.h"
#include "certify/transform.h"

namespace dpledger::certify {
namespace {

constexpr auto kNothing = SampledGaussian::Against::kNothing;
constexpr auto kOpposite = SampledGaussian::Against::kOpposite;

SampledGaussian Step(double q, double mu, double count = 1,
                     SampledGaussian::Against against = kNothing) {
  return {q, mu, against, count};
}

// E[e^{zL}] by its definition, under P: a quadrature that knows nothing of moved lines.
struct Definition {
  SampledGaussian step;
  Direction direction;
  Complex z;

  static int At(acb_ptr out, const acb_t t, void* param, slong order, slong precision) {
    const Bits here(precision);
    const auto& of = *static_cast<const Definition*>(param);
    const auto density = [&](double side) {  // over φ
      const Complex mu(of.step.mu * side);
      return Complex(1.0) - Complex(of.step.q) +
             Complex(of.step.q) * Exp(mu * Complex(t) - mu * mu / Complex(2.0));
    };
    Complex p = density(1), q = of.step.against == kOpposite ? density(-1) : Complex(1.0);
    if (of.direction == Direction::kAdd) std::swap(p, q);
    acb_log_analytic(p.get(), p.get(), order != 0, bits);
    acb_log_analytic(q.get(), q.get(), order != 0, bits);
    const Complex square = Complex(t) * Complex(t) / Complex(2.0);
    acb_set(out, Exp(p + of.z * (p - q) - square).get());
    return 0;
  }
  Complex Value() const {
    const Bits wide(160);
    Complex result;
    mag_t none;
    mag_init(none);
    acb_calc_integrate(result.get(), At, const_cast<Definition*>(this), Complex(-24.0).get(),
                       Complex(36.0).get(), 60, none, nullptr, 128);
    mag_clear(none);
    return result / Complex(Sqrt(Ball(2.0) * Pi()));
  }
};

// What is asked of every case below.
struct Case {
  SampledGaussian step;
  Direction direction;
  double c;
};
std::vector<Case> Cases() {
  std::vector<Case> all;
  for (const double q : {1e-4, 0.5}) {
    for (const double mu : {0.3, 2.0}) {
      all.push_back({Step(q, mu), Direction::kRemove, 2.5});
      all.push_back({Step(q, mu), Direction::kAdd, 3.5});
      all.push_back({Step(q, mu, 1, kOpposite), Direction::kRemove, 1.5});
    }
  }
  return all;
}

Strip GoodRule(const Case& of) {
  const double mu = of.step.mu.Middle();
  return {std::fmin(1.0, 0.6 / mu), -16 - 3 * mu, 16 + 6 * mu, std::fmin(0.08, 0.05 / mu)};
}

bool WithinRule(const Case& of, const Strip& strip, double y, const Complex& truth) {
  const Bits wide(160);
  const Nodes nodes = NodesOf(of.step, of.direction, of.c, strip);
  const Complex sum = AlongLine(nodes, y == 0 ? 1 : y, 1)[y == 0 ? 0 : 1];
  return acb_overlaps(sum.get(), truth.get());
}

TEST(Rule, ContainsTheTransformWhateverItIs) {
  for (const Case& of : Cases()) {
    const Strip good = GoodRule(of);
    for (const double y : {0.0, 15.0}) {
      const Complex truth = Definition{of.step, of.direction, Complex(of.c, y)}.Value();
      EXPECT_TRUE(WithinRule(of, good, y, truth))
          << of.step.q.Middle() << " " << of.step.mu.Middle();
      for (const double factor : {2.0, 5.0, 9.0, 14.0}) {
        Strip coarse = good;
        coarse.step *= factor;
        EXPECT_TRUE(WithinRule(of, coarse, y, truth)) << factor;
      }
      for (const double share : {0.7, 0.4, 0.2}) {
        Strip narrow = good;
        narrow.from *= share, narrow.to *= share;
        EXPECT_TRUE(WithinRule(of, narrow, y, truth)) << share;
      }
    }
  }
}

TEST(Rule, IsNarrowWhereItIsGood) {
  const Bits wide(160);
  for (const Case& of : Cases()) {
    const Nodes nodes = NodesOf(of.step, of.direction, of.c, GoodRule(of));
    EXPECT_TRUE(CertainlyLess(nodes.error, 1e-15 * nodes.Total().Middle()))
        << nodes.error.Text() << " " << of.step.mu.Middle();
  }
}

// A control: the error is needed, and it is what a coarse rule errs by and little more.
TEST(Rule, WithoutItsErrorMissesTheTransform) {
  const Bits wide(160);
  int missed = 0;
  for (const Case& of : Cases()) {
    Strip coarse = GoodRule(of);
    coarse.step *= 9;
    const Nodes nodes = NodesOf(of.step, of.direction, of.c, coarse);
    const Ball sum = (nodes.Total() - Ball(0.0)),
               truth = Definition{of.step, of.direction, Complex(of.c, 0.0)}.Value().Re();
    Ball middle;
    arb_get_mid_arb(middle.get(), sum.get());
    missed += !arb_overlaps(middle.get(), truth.get());
  }
  EXPECT_GT(missed, 5);
}

TEST(LogModulus, IsAboveTheTransformFromThereOn) {
  const Bits wide(160);
  for (const Case& of : Cases()) {
    const double mu = of.step.mu.Middle();
    for (const double y : {3.0, 12.0}) {
      const Complex truth = Definition{of.step, of.direction, Complex(of.c, y)}.Value();
      for (const double height : {0.02, 0.9}) {
        for (const double reach : {4.0, 16.0}) {
          const Strip strip = {height / mu, -reach - mu, reach + 5 * mu, 0};
          const Ball bound = LogModulus(of.step, of.direction, of.c, 3.0, strip, 40);
          EXPECT_FALSE(CertainlyLess(bound, Log(Modulus(truth)))) << height << " " << y;
        }
      }
    }
  }
}
TEST(LogModulus, IsCloseToTheTransformAtAGoodHeight) {
  const Bits wide(160);
  const Case of = {Step(0.2, 1), Direction::kRemove, 2.5};
  const Ball truth = Log(Modulus(Definition{of.step, of.direction, Complex(of.c, 20.0)}.Value()));
  const Ball bound = LogModulus(of.step, of.direction, of.c, 20.0, {0.9, -14, 16, 0}, 40);
  EXPECT_TRUE(CertainlyLess(bound - truth, 12.0)) << bound.Text() << " " << truth.Text();
}

// ---- δ by a line, where a closed form knows it ----

struct LineCase {
  Composition of;
  Direction direction;
  double epsilon;
  Line line;
};
Line LineOf(const LineCase& of, double c, double period, long last) {
  Line line;
  line.tilt = c, line.period = period, line.last = last;
  const auto order = [&](double r) {
    Order result{r, {}};
    for (const SampledGaussian& step : of.of.sampled)
      result.rules.push_back(GoodRule({step, of.direction, r}));
    return result;
  };
  line.above = order(c + 3), line.below = order(c / 2);
  for (const SampledGaussian& step : of.of.sampled) {
    line.rules.push_back(GoodRule({step, of.direction, c}));
    line.moved.push_back({0.3 / step.mu.Middle(), -16, 20, 0});
  }
  return line;
}
std::vector<LineCase> LineCases() {
  std::vector<LineCase> all;
  Composition gaussian;
  gaussian.variance = 1.5;
  all.push_back({gaussian, Direction::kRemove, 1.2, {}});
  for (const Direction direction : {Direction::kRemove, Direction::kAdd}) {
    Composition once;
    once.sampled.push_back(Step(0.3, 1.2));
    all.push_back({once, direction, 0.2, {}});
  }
  for (LineCase& each : all) each.line = LineOf(each, 2.5, 24, 150);
  return all;
}
void ExpectContained(const LineCase& of, const Line& line, const char* what) {
  const Bits wide(192);
  const Ball truth = ClosedDelta(of.of, of.direction, of.epsilon);
  const Bounds bounds = OnLine(of.of, of.direction, of.epsilon, line);
  EXPECT_FALSE(CertainlyLess(bounds.upper, truth)) << what << " " << bounds.upper.Text();
  EXPECT_FALSE(CertainlyLess(truth, bounds.lower)) << what << " " << bounds.lower.Text();
}

TEST(OnLine, ContainsClosedFormsWhateverTheLine) {
  for (const LineCase& of : LineCases()) {
    for (const long last : {3L, 10L, 40L, 400L}) {
      Line line = of.line;
      line.last = last;
      ExpectContained(of, line, "end");
    }
    for (const double period : {0.5, 2.0, 6.0, 60.0}) {
      Line line = of.line;
      line.period = period;
      ExpectContained(of, line, "aliases");
    }
    for (const double smoothing : {1e-6, 1e-3, 0.1, 2.0}) {
      Line line = of.line;
      line.smoothing = smoothing, line.last = 1000;
      ExpectContained(of, line, "smoothing");
    }
    for (const double tilt : {0.1, 1.0, 4.0}) {
      Line line = LineOf(of, tilt, 24, 300);
      ExpectContained(of, line, "tilt");
      line.below = {};  // δ <= 1
      ExpectContained(of, line, "mass");
    }
  }
}
TEST(OnLine, IsNarrowWithAGoodLine) {
  const Bits wide(192);
  const LineCase of = LineCases()[0];
  const Ball truth = ClosedDelta(of.of, of.direction, of.epsilon);
  const Bounds bounds = OnLine(of.of, of.direction, of.epsilon, of.line);
  EXPECT_TRUE(CertainlyLess(bounds.upper - bounds.lower, truth * 1e-12)) << bounds.lower.Text();
  Line smoothed = of.line;
  smoothed.smoothing = 1e-6;
  const Bounds wider = OnLine(of.of, of.direction, of.epsilon, smoothed);
  // Both ends move, by about the variance times the density.
  EXPECT_TRUE(CertainlyLess(truth * 1e-9, wider.upper - truth));
  EXPECT_TRUE(CertainlyLess(truth * 1e-9, truth - wider.lower));
  EXPECT_TRUE(CertainlyLess(wider.upper - wider.lower, truth * 1e-4));
}
TEST(OnLine, ProvesNothingFromGarbage) {
  const double nan = std::nan(""), infinite = std::numeric_limits<double>::infinity();
  for (const LineCase& of : LineCases()) {
    for (const double bad : {nan, -1.0, 0.0, infinite}) {
      for (double Line::*field : {&Line::tilt, &Line::period, &Line::smoothing}) {
        Line line = of.line;
        line.*field = bad;
        ExpectContained(of, line, "field");
      }
      for (double Strip::*field : {&Strip::height, &Strip::from, &Strip::to, &Strip::step}) {
        Line line = of.line;
        for (Strip& strip : line.rules) strip.*field = bad;
        ExpectContained(of, line, "rule");
        line = of.line;
        for (Strip& strip : line.moved) strip.*field = bad;
        ExpectContained(of, line, "moved");
      }
      Line line = of.line;
      line.above.r = bad;
      ExpectContained(of, line, "order");
    }
    Line line = of.line;
    std::swap(line.above, line.below);
    ExpectContained(of, line, "exchanged");
    line = of.line;
    line.last = -5;
    ExpectContained(of, line, "negative");
  }
}

TEST(LogChernoff, IsAboveClosedForms) {
  const Bits wide(192);
  for (const LineCase& of : LineCases()) {
    const Ball truth = ClosedDelta(of.of, of.direction, of.epsilon);
    for (const double r : {0.1, 1.0, 2.5, 9.0}) {
      const Line line = LineOf(of, r, 24, 10);
      const Order order = {r, line.rules};
      EXPECT_FALSE(CertainlyLess(LogChernoff(of.of, of.direction, of.epsilon, order), Log(truth)));
    }
  }
}

// Where one outcome alone is above ε, and the order is its own, the bound is δ itself.
TEST(LogChernoff, IsReachedByOneOutcome) {
  const Bits wide(192);
  const double epsilon = 0.7;
  for (const double r : {0.1, 1.0, 2.5, 9.0}) {
    Pair pair;
    pair.count = 1;
    pair.remove.atoms = {{0.3, Ball(epsilon) + Log1P(Ball(1.0) / r)}, {0.7, -1e4}};
    Composition of;
    of.pairs.push_back(pair);
    const Ball bound = LogChernoff(of, Direction::kRemove, epsilon, {r, {}});
    const Ball truth = Log(Ball(0.3) / (Ball(r) + 1.0));
    EXPECT_FALSE(CertainlyLess(bound, truth)) << r;
    EXPECT_TRUE(CertainlyLess(bound, truth + 1e-12)) << r;
  }
}

// ---- Closed forms by other ways ----

// The sum over all orders of outcomes, two at a time.
TEST(Outcomes, AreThoseOfAllOrders) {
  Pair pair;
  const double p[] = {0.5, 0.3, 0.2}, q[] = {0.2, 0.3, 0.5};
  for (int i = 0; i < 3; ++i) {
    pair.remove.atoms.push_back({p[i], Log(Ball(p[i]) / q[i])});
    pair.add.atoms.push_back({q[i], Log(Ball(q[i]) / p[i])});
  }
  pair.count = 3;
  Composition of;
  of.pairs.push_back(pair);
  double truth = 0;
  for (int i = 0; i < 27; ++i) {
    const int a = i % 3, b = i / 3 % 3, c = i / 9;
    truth += std::fmax(0, p[a] * p[b] * p[c] - std::exp(0.4) * q[a] * q[b] * q[c]);
  }
  EXPECT_NEAR(ClosedDelta(of, Direction::kRemove, 0.4).Middle(), truth, 1e-15);
}

TEST(SampledOnce, IsTheIntegralOfBothDensities) {
  for (const double epsilon : {0.01, 0.15}) {
    for (const Direction direction : {Direction::kRemove, Direction::kAdd}) {
      Composition of;
      of.sampled.push_back(Step(0.3, 1.2));
      double truth = 0;
      for (double t = -12; t < 14; t += 1e-4) {
        const double phi = std::exp(-t * t / 2) / std::sqrt(2 * M_PI) * 1e-4;
        const double ratio = 0.7 + 0.3 * std::exp(1.2 * t - 0.72);
        truth +=
            phi * std::fmax(0, direction == Direction::kRemove ? ratio - std::exp(epsilon)
                                                               : 1 - std::exp(epsilon) * ratio);
      }
      EXPECT_NEAR(ClosedDelta(of, direction, epsilon).Middle(), truth, 1e-8);
    }
  }
}

// ---- Random allocation ----

// Y = e^{μZ - μ²/2}.
double ShortOf(double x, double mu) {
  if (x <= 0) return 0;
  const double z = std::log(x) / mu + mu / 2;
  return (x * std::erfc(-z / std::sqrt(2)) - std::erfc((mu - z) / std::sqrt(2))) / 2;
}
// Of two rounds: E (c - Y - Y')_+ for one of them by its closed form, for the other by a sum.
double OfTwoRounds(double mu, Direction direction, double epsilon) {
  const bool add = direction == Direction::kAdd;
  const double c = 2 * std::exp(add ? -epsilon : epsilon);
  double shortfall = 0;
  for (double z = -12; z < 12; z += 1e-3) {
    const double phi = std::exp(-z * z / 2) / std::sqrt(2 * M_PI) * 1e-3;
    shortfall += phi * ShortOf(c - std::exp(mu * z - mu * mu / 2), mu);
  }
  return add ? std::exp(epsilon) * shortfall / 2 : (2 - c + shortfall) / 2;
}
Ball DeltaOf(Pair pair, Direction direction, double epsilon) {
  pair.count = 1;
  Composition of;
  of.pairs.push_back(std::move(pair));
  return ClosedDelta(of, direction, epsilon);
}

// δ of Σ Bin(3, q)(j) N(jμ) against N(0), by its definition.
double OfThreeCopies(double mu, double q, Direction direction, double epsilon) {
  const double weights[] = {std::pow(1 - q, 3), 3 * q * std::pow(1 - q, 2), 3 * q * q * (1 - q),
                            q * q * q};
  double sum = 0;
  for (double t = -12; t < 14 + 3 * mu; t += 1e-4) {
    const double phi = std::exp(-t * t / 2) / std::sqrt(2 * M_PI) * 1e-4;
    double ratio = 0;
    for (int j = 0; j < 4; ++j) ratio += weights[j] * std::exp(j * mu * (t - j * mu / 2));
    sum += phi * std::fmax(0, direction == Direction::kAdd ? 1 - std::exp(epsilon) * ratio
                                                           : ratio - std::exp(epsilon));
  }
  return sum;
}

TEST(Copies, AreEnclosedHoweverRough) {
  for (const double mu : {0.05, 1.0, 6.0}) {
    for (const double q : {1e-3, 0.3}) {
      for (const Closeness& closeness : {Closeness{1e-12, 1 << 14}, {1e-2, 64}}) {
        const auto enclosed = EncloseCopies(mu, q, 3, closeness);
        ASSERT_TRUE(enclosed.ok()) << enclosed.status();
        for (const Direction direction : {Direction::kRemove, Direction::kAdd}) {
          for (const double epsilon : {0.0, 0.1, 1.0}) {
            SCOPED_TRACE(::testing::Message() << mu << " " << q << " " << epsilon);
            const double truth = OfThreeCopies(mu, q, direction, epsilon);
            const double least = DeltaOf(enclosed->below, direction, epsilon).Middle();
            const double most = DeltaOf(enclosed->above, direction, epsilon).Middle();
            EXPECT_LE(least, truth + 1e-9);
            EXPECT_GE(most, truth - 1e-9);
            const bool is_fine = closeness.places > 64;
            EXPECT_LT(most - least, is_fine ? 1e-4 * truth + 1e-7 : 1);
          }
        }
      }
    }
  }
}

TEST(Copies, OfOneDrawAreASampledGaussian) {
  const auto enclosed = EncloseCopies(1.2, 0.3, 1, {1e-20, 1 << 14});
  ASSERT_TRUE(enclosed.ok()) << enclosed.status();
  Composition sampled;
  sampled.sampled.push_back(Step(0.3, 1.2));
  for (const Direction direction : {Direction::kRemove, Direction::kAdd}) {
    const Ball truth = ClosedDelta(sampled, direction, 0.15);
    EXPECT_TRUE(CertainlyAtMost(DeltaOf(enclosed->below, direction, 0.15), truth));
    EXPECT_TRUE(CertainlyAtMost(truth, DeltaOf(enclosed->above, direction, 0.15)));
  }
}

TEST(Allocation, IsEnclosedHoweverRough) {
  for (const double mu : {0.4, 1.0, 2.0}) {
    for (const Closeness& closeness : {Closeness{1e-9, 1 << 12}, {1e-3, 1 << 8}, {1e-9, 64}}) {
      const auto enclosed = EncloseAllocation(mu, 2, closeness);
      ASSERT_TRUE(enclosed.ok()) << enclosed.status();
      for (const Direction direction : {Direction::kRemove, Direction::kAdd}) {
        for (const double epsilon : {0.0, 0.2, 0.7, 1.5}) {
          SCOPED_TRACE(::testing::Message() << mu << " " << closeness.places << " " << epsilon);
          const double truth = OfTwoRounds(mu, direction, epsilon);
          const double least = DeltaOf(enclosed->below, direction, epsilon).Middle();
          const double most = DeltaOf(enclosed->above, direction, epsilon).Middle();
          EXPECT_LE(least, truth + 1e-13);
          EXPECT_GE(most, truth - 1e-13);
        }
      }
    }
  }
}

TEST(Allocation, IsEnclosedToSecondOrder) {
  for (const Direction direction : {Direction::kRemove, Direction::kAdd}) {
    std::vector<double> widths;
    for (const long places : {1 << 12, 1 << 14}) {
      const auto enclosed = EncloseAllocation(1, 4, {1e-9, places});
      ASSERT_TRUE(enclosed.ok()) << enclosed.status();
      const Ball least = DeltaOf(enclosed->below, direction, 0.5);
      widths.push_back((DeltaOf(enclosed->above, direction, 0.5) - least).Middle());
    }
    EXPECT_LT(widths[1], widths[0] / 12);
    EXPECT_LT(widths[1], 1e-3);
  }
}

TEST(Allocation, ToOneRoundIsAGaussian) {
  const auto enclosed = EncloseAllocation(0.5, 1, {1e-12, 1 << 14});
  ASSERT_TRUE(enclosed.ok()) << enclosed.status();
  Composition gaussian;
  gaussian.variance = 0.25;
  for (const Direction direction : {Direction::kRemove, Direction::kAdd}) {
    const Ball truth = ClosedDelta(gaussian, direction, 1.0);
    EXPECT_TRUE(CertainlyAtMost(DeltaOf(enclosed->below, direction, 1), truth));
    EXPECT_TRUE(CertainlyAtMost(truth, DeltaOf(enclosed->above, direction, 1)));
  }
}

}  // namespace
}  // namespace dpledger::certify
