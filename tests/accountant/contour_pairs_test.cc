// The contour with other pairs beside Gaussians: against sums and quadratures of the Gaussian's
// closed form, and against contour integrals made elsewhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "accountant/contour/contour.h"
#include "accountant/contour/pair_loss.h"
#include "accountant/mechanism/composition.h"
#include "accountant/pair/pairs.h"
#include "accountant/pair/sampling.h"
#include "accountant/pld/pld.h"

namespace dpledger::accountant {
namespace {

long double Phi(long double x) { return std::erfc(-x / std::sqrt(2.0L)) / 2; }
// δ(ε) of a Gaussian, any real ε.
long double GaussianDelta(long double mu, long double epsilon) {
  return Phi(mu / 2 - epsilon / mu) - std::exp(epsilon) * Phi(-mu / 2 - epsilon / mu);
}

// A pair's law of the loss, in one direction: masses at losses, and one at infinity.
struct Loss {
  std::vector<std::pair<long double, long double>> mass;  // loss, mass
  long double infinite = 0;
};
Loss LossOf(const Pair& pair, Direction direction) {
  Loss loss;
  for (const Atom& atom : pair.atoms) {
    const long double own = direction == Direction::kRemove ? atom.p : atom.q;
    const long double other = direction == Direction::kRemove ? atom.q : atom.p;
    if (own > 0 && other > 0) loss.mass.push_back({std::log(own / other), own});
    if (own > 0 && other == 0) loss.infinite += own;
  }
  // Simpson's rule on the densities, which are smooth.
  constexpr int kPanels = 4000;
  for (const DensityPiece& piece : pair.pieces) {
    const long double h = (piece.to - piece.from) / kPanels;
    for (int i = 0; i <= kPanels; ++i) {
      const long double t = piece.from + h * i;
      const auto density = [&](const ExponentialTerm& term) {
        return std::exp(piece.constant + piece.linear * t + term.log_coefficient + term.rate * t);
      };
      const long double p = density(piece.p[0]), q = density(piece.q[0]);
      const long double own = direction == Direction::kRemove ? p : q;
      const long double other = direction == Direction::kRemove ? q : p;
      const int weight = i == 0 || i == kPanels ? 1 : i % 2 == 1 ? 4 : 2;
      loss.mass.push_back({std::log(own / other), own * h / 3 * weight});
    }
  }
  return loss;
}
Loss Twice(const Loss& one) {
  Loss two;
  for (const auto& [a, p] : one.mass) {
    for (const auto& [b, q] : one.mass) two.mass.push_back({a + b, p * q});
  }
  two.infinite = 1 - (1 - one.infinite) * (1 - one.infinite);
  return two;
}

// δ(ε) of the loss beside one Gaussian.
long double Delta(const Loss& loss, long double mu, long double epsilon) {
  long double sum = loss.infinite;
  for (const auto& [at, mass] : loss.mass) sum += mass * GaussianDelta(mu, epsilon - at);
  return sum;
}

Composition Beside(const Pair& pair, uint64_t count, double z) {
  Composition composition;
  composition.steps.push_back({1, {z, z}, 1});
  composition.pairs.push_back({pair, pair, std::nullopt, count});
  return composition;
}

struct Case {
  const char* name;
  Pair pair;
};
std::vector<Case> Cases() {
  return {
      {"response", EpsilonDeltaPair(0.5, 0, Bound::kUpper)},
      {"strong response", EpsilonDeltaPair(4, 0, Bound::kUpper)},
      {"response that may fail", EpsilonDeltaPair(0.5, 1e-7, Bound::kUpper)},
      {"against uniform", RandomizedResponseAgainstUniform(0.4, 5)},
      {"three losses", RandomizedResponsePair(0.3, 10)},
      {"Laplace", LaplacePair(1, Bound::kUpper)},
      {"weak Laplace", LaplacePair(0.01, Bound::kUpper)},
      {"strong Laplace", LaplacePair(8, Bound::kUpper)},
      {"bounded range", BoundedRangePair(0.5)},
      {"discrete Laplace", DiscreteLaplacePair(0.3, 4, Bound::kUpper)},
      {"discrete Gaussian", DiscreteGaussianPair(3, 2, Bound::kUpper)},
      {"strong discrete Gaussian", DiscreteGaussianPair(1, 3, Bound::kUpper)},
  };
}

TEST(ContourPairs, DeltaIsThatOfTheSumOverTheLosses) {
  for (const auto& [name, pair] : Cases()) {
    for (const uint64_t count : {1, 2}) {
      if (count == 2 && !pair.pieces.empty()) continue;
      for (const Direction direction : {Direction::kRemove, Direction::kAdd}) {
        const Loss one = LossOf(pair, direction), loss = count == 1 ? one : Twice(one);
        for (const double epsilon : {0.0, 0.3, 2.0, 6.0}) {
          const double truth = static_cast<double>(Delta(loss, 1 / 1.25L, epsilon));
          const auto found =
              contour::Delta(Beside(pair, count, 1.25), epsilon, Limits{}, direction);
          ASSERT_TRUE(found.ok()) << found.status();
          ASSERT_TRUE(found->has_value()) << name << " " << epsilon;
          const Interval& delta = **found;
          EXPECT_LE(delta.lower(), truth * (1 + 1e-13)) << name << " " << count << " " << epsilon;
          EXPECT_GE(delta.upper(), truth * (1 - 1e-13)) << name << " " << count << " " << epsilon;
          EXPECT_LE(delta.RelativeGap(), 1e-9) << name << " " << count << " " << epsilon;
        }
      }
    }
  }
}

TEST(ContourPairs, EpsilonTurnsDeltaBack) {
  for (const auto& [name, pair] : Cases()) {
    for (const double epsilon : {0.4, 3.0}) {
      double delta = 0;
      for (const Direction direction : {Direction::kRemove, Direction::kAdd}) {
        delta = std::fmax(delta,
                          static_cast<double>(Delta(LossOf(pair, direction), 1 / 1.25L, epsilon)));
      }
      const auto found = contour::Epsilon(Beside(pair, 1, 1.25), delta, Limits{});
      ASSERT_TRUE(found.ok()) << found.status();
      ASSERT_TRUE(found->has_value()) << name;
      EXPECT_LE((*found)->lower(), epsilon * (1 + 1e-12)) << name;
      EXPECT_GE((*found)->upper(), epsilon * (1 - 1e-12)) << name;
      // (The masses of discrete Gaussians are known to 6e-13.)
      EXPECT_LE((*found)->RelativeGap(), 2e-9) << name << " " << epsilon;
    }
  }
}

// Contour integrals at two periods and ends that agree to these digits, made with other code.
TEST(ContourPairs, MeetsIntegralsMadeElsewhere) {
  const struct {
    Pair pair;
    double epsilon;
  } cases[] = {{LaplacePair(0.01, Bound::kUpper), 6.1879073642763},
               {LaplacePair(1, Bound::kUpper), 7.0009876409294},
               {EpsilonDeltaPair(0.5, 0, Bound::kUpper), 6.5388088794367},
               {BoundedRangePair(0.5), 6.3373411230537}};
  for (const auto& [pair, epsilon] : cases) {
    Composition composition = Beside(pair, 1, 1);
    composition.steps = {{0.01, {1, 1}, 10000}};
    const auto found = contour::Epsilon(composition, 1e-5, Limits{});
    ASSERT_TRUE(found.ok() && found->has_value());
    EXPECT_NEAR((*found)->upper(), epsilon, 1e-11);
    EXPECT_LE((*found)->RelativeGap(), 1e-9);
  }
}

// A pair known to a relative error stands for every pair within it.
TEST(ContourPairs, TheMassesErrorIsInTheInterval) {
  constexpr double kOff = 1e-7;
  Pair about = EpsilonDeltaPair(0.5, 0, Bound::kUpper);
  const Composition exact = Beside(about, 3, 1.25);
  about.relative_error = kOff;
  const Composition loose = Beside(about, 3, 1.25);
  for (const double sign : {-1.0, 1.0}) {
    Pair moved = about;
    moved.relative_error = 0;
    for (Atom& atom : moved.atoms) {
      const bool greater = atom.p > atom.q;
      atom.p *= 1 + (greater ? sign : -sign) * 0.95 * kOff;
      atom.q *= 1 + (greater ? -sign : sign) * 0.95 * kOff;
    }
    const Loss one = LossOf(moved, Direction::kRemove), two = Twice(one);
    Loss three;
    for (const auto& [a, p] : one.mass) {
      for (const auto& [b, q] : two.mass) three.mass.push_back({a + b, p * q});
    }
    for (const double epsilon : {0.5, 4.0}) {
      const double truth = static_cast<double>(Delta(three, 0.8L, epsilon));
      const auto found = contour::Delta(loose, epsilon, Limits{}, Direction::kRemove);
      ASSERT_TRUE(found.ok() && found->has_value());
      EXPECT_TRUE((*found)->Contains(truth)) << epsilon;
      EXPECT_LT((*found)->RelativeGap(), 1e-4);
      const auto control = contour::Delta(exact, epsilon, Limits{}, Direction::kRemove);
      ASSERT_TRUE(control.ok() && control->has_value());
      EXPECT_FALSE((*control)->Contains(truth)) << "nothing is tested by this";
    }
  }
}

// The same at the nodes of a line, where K's error is apart.
TEST(ContourPairs, TheMassesErrorIsInTheTransform) {
  constexpr double kOff = 1e-7;
  for (const auto& [name, pair] : Cases()) {
    if (!pair.pieces.empty()) continue;
    Pair about = pair, moved = pair;
    about.relative_error = kOff;
    for (size_t i = 0; i < moved.atoms.size(); ++i) {
      const double sign = i % 2 == 0 ? 0.95 : -0.95;
      moved.atoms[i].p *= 1 + sign * kOff;
      moved.atoms[i].q *= 1 - sign * kOff;
    }
    contour::StepOnLine line, truth;
    for (contour::StepOnLine* on : {&line, &truth}) {
      on->log_modulus.resize(40);
      on->phase.resize(40);
      on->error.resize(40);
    }
    double work = 1e9;
    ASSERT_TRUE(contour::PairLoss::Of(about, false)->PutOnLine(2, 0.1, 40, work, line));
    ASSERT_TRUE(contour::PairLoss::Of(moved, false)->PutOnLine(2, 0.1, 40, work, truth));
    EXPECT_LE(std::fabs(line.log_mgf - truth.log_mgf), line.log_mgf_error) << name;
    for (size_t k = 0; k < 40; ++k) {
      const double off = std::hypot(line.log_modulus[k] - truth.log_modulus[k],
                                    std::remainder(line.phase[k] - truth.phase[k], 2 * M_PI));
      EXPECT_LE(off, line.error[k]) << name << " " << k;
    }
  }
}

// Of so many runs the rounding of one run's transform is the greatest error.
TEST(ContourPairs, TheRoundingOfARunCountsInEveryRun) {
  constexpr double kEach = 1e-5;
  constexpr int kCount = 100'000'000;
  const Composition composition = Beside(EpsilonDeltaPair(kEach, 0, Bound::kUpper), kCount, 1.25);
  for (const double epsilon : {0.5, 2.0, 4.0}) {
    // The binomial law of the loss, ten standard deviations of it.
    const long double log_p = -std::log1p(std::exp(-static_cast<long double>(kEach)));
    const auto log_mass = [&](long double i) {
      return std::lgamma(kCount + 1.0L) - std::lgamma(i + 1) - std::lgamma(kCount - i + 1) +
             kCount * log_p - (kCount - i) * static_cast<long double>(kEach);
    };
    const int middle = kCount / 2 + 250;
    long double truth = 0;
    for (const int sign : {-1, 1}) {
      long double mass = std::exp(log_mass(middle));
      for (int i = middle, k = 0; k < 50000; ++k, i += sign) {
        if (sign > 0 || k > 0)
          truth += mass * GaussianDelta(0.8L, epsilon - (2.0L * i - kCount) * kEach);
        const long double e = std::exp(static_cast<long double>(kEach));
        mass *= sign > 0 ? (kCount - i) / (i + 1.0L) * e : i / (kCount - i + 1.0L) / e;
      }
    }
    const auto found = contour::Delta(composition, epsilon, Limits{}, Direction::kRemove);
    ASSERT_TRUE(found.ok() && found->has_value());
    // (The law's own sum is good to 1e-9.)
    EXPECT_LE((*found)->lower(), static_cast<double>(truth) * (1 + 1e-9)) << epsilon;
    EXPECT_GE((*found)->upper(), static_cast<double>(truth) * (1 - 1e-9)) << epsilon;
    // Less than a rounding for every run is not to be believed.
    EXPECT_GE((*found)->RelativeGap(), 1e-9) << epsilon;
    EXPECT_LE((*found)->RelativeGap(), 1e-4) << epsilon;
  }
}

// An infinite loss is δ at every ε, and leaves that much less of it.
TEST(ContourPairs, InfiniteLossesComeOnTop) {
  const Pair fails = EpsilonDeltaPair(0.5, 1e-6, Bound::kUpper);
  const auto delta = contour::Delta(Beside(fails, 2, 1.25), 60, Limits{}, Direction::kAdd);
  ASSERT_TRUE(delta.ok());
  if (delta->has_value()) {
    EXPECT_NEAR((*delta)->upper(), 2e-6 - 1e-12, 1e-15);
  }
  const auto none = contour::Epsilon(Beside(fails, 2, 1.25), 1.9e-6, Limits{});
  ASSERT_TRUE(none.ok());
  EXPECT_FALSE(none->has_value()) << "no ε at all: another method says so";
}

TEST(ContourPairs, OverlapsTheLossGridOnManyKinds) {
  Composition composition;
  composition.steps.push_back({0.02, {1.1, 1.1}, 3000});
  composition.steps.push_back({1, {40, 40}, 2});
  for (const auto& [name, pair] : Cases()) {
    composition.pairs.push_back({pair, pair, std::nullopt, composition.pairs.size() % 3 + 1});
  }
  const auto line = contour::Epsilon(composition, 1e-5, Limits{});
  const auto grid = pld::Epsilon(composition, 1e-5, 1e-4, Limits{});
  ASSERT_TRUE(line.ok() && line->has_value() && grid.ok());
  EXPECT_LE((*line)->lower(), grid->value.upper());
  EXPECT_GE((*line)->upper(), grid->value.lower());
  EXPECT_LE((*line)->RelativeGap(), 1e-9);
}

TEST(ContourPairs, AppliesWhereATransformIsKnownAndAGaussianEndsTheLine) {
  EXPECT_TRUE(contour::Applies(Beside(LaplacePair(1, Bound::kUpper), 1, 1)));
  Composition no_gaussian = Beside(LaplacePair(1, Bound::kUpper), 1, 1);
  no_gaussian.steps.clear();
  EXPECT_FALSE(contour::Applies(no_gaussian));
  EXPECT_FALSE(contour::Applies(Beside(OpposedGaussianPair(0.1, 1, 1), 1, 1)));
}

}  // namespace
}  // namespace dpledger::accountant
