// δ next to 1: lines that sum 1 - δ, against closed forms and quadratures of 1 - δ in long double,
// in which nothing is subtracted from 1, and against the loss grid.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "accountant/accountant.h"
#include "tests/accountant/exact_gaussian.h"

namespace dpledger::accountant {
namespace {

using exact::NormalTail;
using exact::Real;

Composition Steps(double q, double z, uint64_t count) {
  Composition composition;
  composition.steps.push_back({q, {z, z}, count});
  return composition;
}

// Where the loss of one step is `loss`, above log(1 - q).
Real PlaceOf(Real q, Real mu, Real loss) { return std::log1p(std::expm1(loss) / q) / mu + mu / 2; }

// E[min(1, e^{ε-L})] of one step, L its loss or, for add, its negative under the other law.
Real RestOfOne(Real q, Real mu, Real epsilon, bool add) {
  const auto sampled = [&](Real above) {
    return (1 - q) * NormalTail(above) + q * NormalTail(above - mu);
  };
  const auto not_above = [&](Real at) {
    return (1 - q) * NormalTail(-at) + q * NormalTail(mu - at);
  };
  const Real edge = std::log1p(-q);
  if (!add) {
    if (epsilon <= edge) return std::exp(epsilon);
    const Real at = PlaceOf(q, mu, epsilon);
    return not_above(at) + std::exp(epsilon) * NormalTail(at);
  }
  if (-epsilon <= edge) return 1;
  const Real at = PlaceOf(q, mu, -epsilon);
  return NormalTail(at) + std::exp(epsilon) * (sampled(-100) - sampled(at));
}

// The same of two steps.
Real RestOfTwo(Real q, Real mu, Real epsilon, bool add) {
  constexpr Real kStep = 1.0L / 512, kReach = 14;
  Real sum = 0;
  for (Real t = -kReach; t < mu + kReach; t += kStep) {
    const Real without = std::exp(-t * t / 2), with = std::exp(-(t - mu) * (t - mu) / 2);
    const Real loss = exact::Loss(q, mu, t);
    sum += (add ? without : (1 - q) * without + q * with) *
           RestOfOne(q, mu, epsilon - (add ? -loss : loss), add);
  }
  return sum * kStep / std::sqrt(2 * std::acos(-1.0L));
}

template <typename Rest>
Real EpsilonWhere(const Rest& rest, Real goal) {
  if (rest(0) >= goal) return 0;
  Real low = 0, high = 1;
  while (rest(high) < goal) high *= 2;
  while (high - low > 1e-12L * high) {
    const Real middle = (low + high) / 2;
    (rest(middle) < goal ? low : high) = middle;
  }
  return (low + high) / 2;
}

Interval ByContour(const Composition& composition, double delta,
                   std::optional<Direction> direction = std::nullopt) {
  Options options;
  options.method = Method::kContour;
  const absl::StatusOr<Answer> answer =
      direction.has_value() ? ComputeEpsilonIn(*direction, composition, delta, options)
                            : ComputeEpsilon(composition, delta, options);
  EXPECT_TRUE(answer.ok()) << answer.status();
  return answer.ok() ? answer->value : Interval{0, 0};
}

// The control: a 1 - δ that is a ten thousandth greater has another ε.
void ExpectOnly(const Interval& found, Real truth, Real elsewhere, double what) {
  const double slack = 1e-11;
  EXPECT_LE(found.lower(), truth * (1 + slack)) << what;
  EXPECT_GE(found.upper(), truth * (1 - slack)) << what;
  if (truth == 0) return;
  EXPECT_LT(found.upper(), elsewhere) << what;
}

TEST(Rest, EnclosesTheClosedFormOfOneGaussian) {
  for (const double z : {0.1, 0.5, 2.0, 30.0}) {
    for (const double rest : {0.3, 1e-2, 1e-5, 0x1p-30}) {
      const Real mu = std::sqrt(7.0L) / z;
      const auto of = [&](Real epsilon) { return RestOfOne(1 - 1e-19L, mu, epsilon, false); };
      ExpectOnly(ByContour(Steps(1, z, 7), 1 - rest), EpsilonWhere(of, rest),
                 EpsilonWhere(of, rest * 1.0001L), rest);
    }
  }
}

TEST(Rest, EnclosesTheQuadratureOfTwoSteps) {
  int above_zero = 0;
  for (const double q : {0.2, 0.5, 0.9}) {
    for (const double z : {0.2, 0.4, 0.8}) {
      for (const double rest : {0.25, 1e-2, 1e-4, 0x1p-30}) {
        for (const bool add : {false, true}) {
          const auto of = [&](Real epsilon) { return RestOfTwo(q, 1 / Real(z), epsilon, add); };
          const Interval found =
              ByContour(Steps(q, z, 2), 1 - rest, add ? Direction::kAdd : Direction::kRemove);
          if (found.RelativeGap() > 1e-6) continue;  // no line closes
          const Real truth = EpsilonWhere(of, rest);
          ExpectOnly(found, truth, EpsilonWhere(of, rest * 1.0001L), q);
          above_zero += truth > 0;
        }
      }
    }
  }
  EXPECT_GT(above_zero, 20);
}

TEST(Rest, AgreesWithTheLossGrid) {
  std::mt19937_64 random(23);
  const auto log_uniform = [&](double low, double high) {
    return low * std::pow(high / low, std::uniform_real_distribution<double>()(random));
  };
  int narrow = 0;
  for (int i = 0; i < 120; ++i) {
    const double q = i % 2 == 0 ? log_uniform(1e-3, 1) : 1 - log_uniform(1e-6, 1);
    const double z = log_uniform(0.2, 10), deviation = log_uniform(1, 10);
    const auto count = static_cast<uint64_t>(1 + std::pow(deviation * z / q, 2));
    const double delta = 1 - log_uniform(1e-6, 0.5);
    const Composition composition = Steps(q, z, count);
    Options options;
    options.method = Method::kPld;
    const absl::StatusOr<Answer> by_grid = ComputeEpsilon(composition, delta, options);
    ASSERT_TRUE(by_grid.ok()) << by_grid.status();
    const Interval found = ByContour(composition, delta);
    EXPECT_LE(found.lower(), by_grid->value.upper()) << q << " " << z << " " << count;
    EXPECT_GE(found.upper(), by_grid->value.lower()) << q << " " << z << " " << count;
    narrow += found.lower() > 0 && found.RelativeGap() < 1e-6;
  }
  EXPECT_GT(narrow, 30);
}

}  // namespace
}  // namespace dpledger::accountant
