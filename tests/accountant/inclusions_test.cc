// Bounds by inclusions, against the exact profile of two steps, against sums
// over inclusions in long double, and against other methods where both answer.
#include "accountant/gaussian/inclusions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "accountant/accountant.h"
#include "tests/accountant/exact_gaussian.h"

namespace dpledger::accountant::gaussian {
namespace {

using exact::Real;

Composition Steps(double q, double z, uint64_t count) {
  Composition composition;
  composition.steps.push_back({q, {z, z}, count});
  return composition;
}

constexpr Real kStep = 1.0L / 512;

// δ(ε) of two steps: the second step's profile at what the first one's loss
// leaves, under P. The profile has an edge at its least loss, where the
// trapezoid errs by at most kStep²·mu·q/8.
Real TwoStepsDelta(Real q, Real mu, Real epsilon) {
  constexpr Real kReach = 14;
  Real sum = 0;
  for (Real t = -kReach; t < mu + kReach; t += kStep) {
    const Real law = (1 - q) * std::exp(-t * t / 2) + q * std::exp(-(t - mu) * (t - mu) / 2);
    const Real left = epsilon - exact::Loss(q, mu, t);
    // Below its least loss, δ is what is left of 1 - e^{left}.
    const Real delta = left > std::log1p(-q) ? exact::RemoveDelta(q, mu, left) : -std::expm1(left);
    sum += law * delta;
  }
  return sum * kStep / std::sqrt(2 * std::acos(-1.0L));
}

TEST(Inclusions, EncloseTheProfileOfTwoSteps) {
  for (const double q : {1e-3, 0.1, 0.7}) {
    for (const double mu : {0.5, 4.0, 20.0, 30.0}) {
      const Inclusions steps{q, mu, 2};
      double narrowest = 1e300;
      for (double epsilon = 0.25; epsilon < 2 * mu * mu; epsilon *= 1.7) {
        const Real truth = TwoStepsDelta(q, mu, epsilon);
        const Real error = kStep * kStep * mu * q / 8;
        if (!(truth > 100 * error)) break;
        const double up = steps.LogDeltaUp(epsilon), down = steps.LogDeltaDown(epsilon);
        EXPECT_LE(down, std::log(truth + error)) << q << " " << mu << " " << epsilon;
        EXPECT_GE(up, std::log(truth - error)) << q << " " << mu << " " << epsilon;
        narrowest = std::fmin(narrowest, up - down);
        const double delta = static_cast<double>(truth);
        if (!(delta < 1)) continue;
        EXPECT_LE(steps.EpsilonByThreshold(delta), epsilon) << q << " " << mu;
        EXPECT_LE(steps.EpsilonByTail(delta), epsilon) << q << " " << mu;
      }
      EXPECT_TRUE(mu < 20 || narrowest < 1e-3) << q << " " << mu << " " << narrowest;
    }
  }
}

// Shells of rates that no loss grid resolves: the contour by jumps at both
// ends, where δ is that of two steps by quadrature to a few 1e-5.
TEST(Inclusions, TwoStepsByJumpsAtTinyRates) {
  std::mt19937_64 random(41);
  const auto log_uniform = [&](double low, double high) {
    return low * std::pow(high / low, std::uniform_real_distribution<double>()(random));
  };
  int narrow = 0;
  for (int i = 0; i < 24; ++i) {
    const double q = log_uniform(1e-14, 1e-8), z = log_uniform(0.06, 1);
    const double delta = q * log_uniform(1e-16, 1e-3);
    Options options;
    options.method = Method::kContour;
    const absl::StatusOr<Answer> answer =
        ComputeEpsilon(Steps(q, z, 2), delta, options, Direction::kRemove);
    ASSERT_TRUE(answer.ok()) << answer.status();
    if (answer->value.RelativeGap() > 1e-3) continue;
    ++narrow;
    const Real mu = 1 / static_cast<Real>(z);
    EXPECT_GE(TwoStepsDelta(q, mu, answer->value.lower()) / delta, 1 - 1e-4L) << q << " " << z;
    EXPECT_LE(TwoStepsDelta(q, mu, answer->value.upper()) / delta, 1 + 1e-4L) << q << " " << z;
  }
  EXPECT_GT(narrow, 6);
}

// δ(ε) of a Gaussian of great μ: e^ε Φ(-b) = φ(a)/b (1 - 1/b² + 3/b⁴) to 15/b⁶.
Real GreatGaussianDelta(Real mu, Real epsilon) {
  const Real a = epsilon / mu - mu / 2, b = epsilon / mu + mu / 2;
  return exact::NormalTail(a) - std::exp(-a * a / 2) / std::sqrt(2 * std::acos(-1.0L)) *
                                    (1 - 1 / (b * b) + 3 / (b * b * b * b)) / b;
}

// Of noise so low that each inclusion is certain the loss is a sum over how
// many there are: here by logarithms of factorials in long double.
TEST(Inclusions, AddUpOverHowManyThereAre) {
  constexpr double kMu = 300;
  // The last ones are taken in blocks, which cost δ up to a factor and ε hardly a digit.
  for (const auto& [q, count, apart] : {std::tuple{1e-3, 1e6, 1e-3},
                                        {0.4, 2000.0, 1e-3},
                                        {1e-9, 5e10, 1e-3},
                                        {0.3, 1e8, 1.0},
                                        {0.7, 3e7, 1.0}}) {
    const Inclusions steps{q, kMu, count};
    const Real oracle_error = 1e-9 + 1e-18 * count * std::log(count);
    const Real mean = static_cast<Real>(q) * count, log_rest = std::log1p(-static_cast<Real>(q));
    for (const double away : {-6.0, -1.0, 0.0, 4.0, 9.0}) {
      const double epsilon = static_cast<double>(
          (mean + away * std::sqrt(mean)) * (kMu * kMu / 2 + std::log(q)) + count * log_rest);
      if (!(epsilon > 0)) continue;
      Real truth = 0;
      for (Real n = std::fmax(1, std::floor(mean - 20 * std::sqrt(mean)));
           n <= std::fmin(count, mean + 20 * std::sqrt(mean)); ++n) {
        const Real log_mass = std::lgamma(count + 1.0L) - std::lgamma(n + 1) -
                              std::lgamma(count - n + 1) + n * std::log(static_cast<Real>(q)) +
                              (count - n) * log_rest;
        const Real left = epsilon - (count - n) * log_rest - n * std::log(static_cast<Real>(q));
        truth += std::exp(log_mass) * GreatGaussianDelta(kMu * std::sqrt(n), std::fmax(0, left));
      }
      const double down = steps.LogDeltaDown(epsilon), up = steps.LogDeltaUp(epsilon);
      EXPECT_LE(down, std::log(truth) + oracle_error) << q << " " << away;
      EXPECT_GE(up, std::log(truth) - oracle_error) << q << " " << away;
      EXPECT_LT(up - down, apart) << q << " " << away;
      const double delta = static_cast<double>(truth);
      if (1 - truth < 100 * oracle_error) continue;  // the oracle knows nothing of 1 - δ
      EXPECT_LE(steps.EpsilonByTail(delta), epsilon) << q << " " << away;
    }
  }
}

// The test at the best threshold is the best test of one step.
TEST(Inclusions, ThresholdIsExactForOneStep) {
  for (const double q : {1e-12, 1e-3, 0.5, 1.0}) {
    for (const double mu : {1e-3, 1.0, 5.0}) {
      const Inclusions step{q, mu, 1};
      for (const double share : {1e-3, 1e-9}) {
        const double delta = share * q * mu;
        const double found = step.EpsilonByThreshold(delta);
        ASSERT_GT(found, 0) << q << " " << mu;
        EXPECT_GE(exact::RemoveDelta(q, mu, found) / delta, 1 - 1e-12) << q << " " << mu;
        EXPECT_LE(exact::RemoveDelta(q, mu, found * 1.01) / delta, 1) << q << " " << mu;
      }
    }
  }
}

// As few steps as other methods answer narrowly: what inclusions say does not
// contradict them.
TEST(Inclusions, AgreeWithOtherMethods) {
  std::mt19937_64 random(11);
  const auto log_uniform = [&](double low, double high) {
    return low * std::pow(high / low, std::uniform_real_distribution<double>()(random));
  };
  int narrow = 0, two_sided = 0;
  for (int i = 0; i < 80; ++i) {
    const double z = log_uniform(0.06, 2), q = log_uniform(1e-6, 1);
    const Composition composition = Steps(q, z, static_cast<uint64_t>(log_uniform(2, 1e6)));
    const double delta = log_uniform(1e-30, 0.1);
    Options options;
    options.method = Method::kContour;
    options.limits.max_grid_work = 1e7;
    options.limits.max_jump_work = 1e8;
    const absl::StatusOr<Answer> answer = ComputeEpsilon(composition, delta, options);
    ASSERT_TRUE(answer.ok()) << answer.status();
    if (answer->value.RelativeGap() > 1e-3) continue;
    ++narrow;
    const Interval found = EpsilonByInclusions(composition, delta);
    EXPECT_LE(found.lower(), answer->value.upper()) << q << " " << z << " " << delta;
    EXPECT_GE(found.upper(), answer->value.lower()) << q << " " << z << " " << delta;
    two_sided += std::isfinite(found.upper());
    const double epsilon = answer->value.upper();
    const Interval at = DeltaByInclusions(composition, epsilon);
    EXPECT_LE(at.lower(), delta * (1 + 1e-9)) << q << " " << z << " " << delta;
  }
  EXPECT_GT(narrow, 30);
  EXPECT_GE(two_sided, 1);
}

// Low noise and few inclusions, far out of the others' reach: both ends, and
// the control that a hundredth more noise is told apart.
TEST(Inclusions, AnswerLowNoise) {
  for (const auto& [q, z, count, delta] : {std::tuple{1e-6, 0.01, uint64_t{10'000'000}, 1e-20},
                                           {1e-12, 1e-3, uint64_t{1} << 53, 0.5},
                                           {0.3, 2e-3, uint64_t{100}, 1e-250},
                                           {3e-9, 0.02, uint64_t{1'000'000'000}, 0.9}}) {
    const absl::StatusOr<Answer> at = ComputeEpsilon(Steps(q, z, count), delta, Options());
    const absl::StatusOr<Answer> less = ComputeEpsilon(Steps(q, 1.01 * z, count), delta, Options());
    ASSERT_TRUE(at.ok() && less.ok());
    EXPECT_LT(at->value.RelativeGap(), 1e-3) << q << " " << z;
    EXPECT_LT(less->value.upper(), at->value.lower()) << q << " " << z;
  }
}

// δ(0) is at most the probability of being in some sample, 0.98922 here. (The
// search for ε once had no end there.)
TEST(Inclusions, ShowThatEpsilonIsZero) {
  const Composition composition = Steps(3.167e-9, 3e-3, 1'431'009'697);
  EXPECT_EQ(EpsilonByInclusions(composition, 1 - 1e-9).upper(), 0);
  EXPECT_EQ(EpsilonByInclusions(composition, 0.9895).upper(), 0);
  EXPECT_GT(EpsilonByInclusions(composition, 0.9890).lower(), 0);
}

// Inclusions that all show, and so many that a line closes: one sums over how
// many there are, the other along the line.
TEST(Inclusions, AgreeWithALine) {
  std::mt19937_64 random(37);
  const auto log_uniform = [&](double low, double high) {
    return low * std::pow(high / low, std::uniform_real_distribution<double>()(random));
  };
  int narrow = 0;
  for (int i = 0; i < 30; ++i) {
    const double q = log_uniform(1e-13, 1e-7), z = log_uniform(0.02, 0.08);
    const auto count = static_cast<uint64_t>(std::fmin(0x1p53, log_uniform(60, 1e4) / q));
    const double delta = i % 2 == 0 ? log_uniform(1e-30, 1e-3) : 1 - log_uniform(1e-9, 0.5);
    const Composition composition = Steps(q, z, count);
    Options options;
    options.method = Method::kContour;
    const absl::StatusOr<Answer> answer = ComputeEpsilon(composition, delta, options);
    ASSERT_TRUE(answer.ok()) << answer.status();
    const Interval found = EpsilonByInclusions(composition, delta);
    EXPECT_LE(found.lower(), answer->value.upper())
        << q << " " << z << " " << count << " " << delta;
    EXPECT_GE(found.upper(), answer->value.lower())
        << q << " " << z << " " << count << " " << delta;
    narrow += found.RelativeGap() < 1e-3 && answer->value.RelativeGap() < 1e-5;
  }
  EXPECT_GT(narrow, 5);
}

// No lower end is 0 where something is shown.
TEST(Inclusions, LeaveNoLowerEndAtZero) {
  for (const auto& [q, z, count, delta] : {std::tuple{6e-12, 3.0, uint64_t{6}, 3e-173},
                                           {1e-13, 0.8, uint64_t{1} << 53, 8e-152},
                                           {2e-4, 10.0, uint64_t{7000}, 2e-293}}) {
    const absl::StatusOr<Answer> answer = ComputeEpsilon(Steps(q, z, count), delta, Options());
    ASSERT_TRUE(answer.ok());
    EXPECT_GT(answer->value.lower(), 0) << q << " " << z;
    for (const std::string& warning : answer->warnings)
      EXPECT_EQ(warning.find("no lower bound"), std::string::npos) << warning;
  }
}

}  // namespace
}  // namespace dpledger::accountant::gaussian
