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

// E[min(1, e^{ε-L})] of one Gaussian mechanism, the same in both directions.
Real RestOfGaussian(Real mu, Real epsilon) {
  const Real at = epsilon / mu - mu / 2;
  return NormalTail(-at) + std::exp(epsilon) * NormalTail(at + mu);
}

// The same of a sampled step beside one Gaussian of mean `beside`.
Real RestBeside(Real beside, Real q, Real mu, bool add, Real epsilon) {
  constexpr Real kStep = 1.0L / 64, kReach = 9;
  Real sum = 0;
  for (Real t = -kReach; t < mu + kReach; t += kStep) {
    const Real without = std::exp(-t * t / 2), with = std::exp(-(t - mu) * (t - mu) / 2);
    const Real loss = exact::Loss(q, mu, t);
    sum += (add ? without : (1 - q) * without + q * with) *
           RestOfGaussian(beside, epsilon - (add ? -loss : loss));
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
      direction.has_value() ? ComputeEpsilon(composition, delta, options, *direction)
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
      const auto of = [&](Real epsilon) { return RestOfGaussian(mu, epsilon); };
      ExpectOnly(ByContour(Steps(1, z, 7), 1 - rest), EpsilonWhere(of, rest),
                 EpsilonWhere(of, rest * 1.0001L), rest);
    }
  }
}

TEST(Rest, EnclosesTheQuadratureOfASampledStepBesideAGaussian) {
  for (const double q : {1e-6, 0.3, 0.9, 1 - 1e-12}) {
    for (const double z : {0.25, 0.6, 3.0}) {
      for (const double rest : {0.25, 1e-2, 1e-4, 0x1p-30}) {
        for (const bool add : {false, true}) {
          Composition composition = Steps(q, z, 1);
          composition.steps.push_back({1, {0.2, 0.2}, 1});
          const auto of = [&](Real epsilon) {
            return RestBeside(1 / Real(0.2), q, 1 / Real(z), add, epsilon);
          };
          ExpectOnly(ByContour(composition, 1 - rest, add ? Direction::kAdd : Direction::kRemove),
                     EpsilonWhere(of, rest), EpsilonWhere(of, rest * 1.0001L), q);
        }
      }
    }
  }
}

TEST(Rest, AgreesWithTheLossGrid) {
  std::mt19937_64 random(23);
  const auto log_uniform = [&](double low, double high) {
    return low * std::pow(high / low, std::uniform_real_distribution<double>()(random));
  };
  int narrow = 0;
  for (int i = 0; i < 30; ++i) {
    const double q = i % 2 == 0 ? log_uniform(1e-3, 1) : 1 - log_uniform(1e-6, 1);
    const double z = log_uniform(0.2, 10), deviation = log_uniform(4, 10);
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
  EXPECT_GT(narrow, 10);
}

}  // namespace
}  // namespace dpledger::accountant
