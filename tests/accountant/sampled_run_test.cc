// Several mechanisms on one sample, against those that are known in closed form: Gaussians are one
// Gaussian, and a sample of them is one sampled Gaussian.
#include "accountant/selection/sampled_run.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>

#include "accountant/accountant.h"
#include "accountant/mechanism/composition.h"
#include "accountant/pair/profile_pair.h"
#include "accountant/pair/sampling.h"

namespace dpledger::accountant {
namespace {

using selection::PairsAround;

// Gaussians of this joint distance in `count` equal ones, all on one sample.
SampledRun GaussiansOnASample(double q, double distance, uint64_t count) {
  const double z = std::sqrt(static_cast<double>(count)) / distance;
  Composition run;
  run.steps.push_back({1, {z, z}, count});
  return {std::make_shared<const Composition>(run), q};
}

Composition Of(Pair pair, uint64_t count) {
  Composition composition;
  composition.pairs.push_back({pair, pair, std::nullopt, count});
  return composition;
}

TEST(SampledRun, PairsAreAroundTheSampledGaussianThatItIs) {
  std::mt19937_64 random(20261128);
  const auto log = [&](double from, double to) {
    return from * std::pow(to / from, std::uniform_real_distribution<double>()(random));
  };
  int narrow = 0;
  for (int i = 0; i < 12; ++i) {
    const double q = log(1e-3, 0.9), distance = log(0.1, 4), delta = log(1e-12, 1e-3);
    const uint64_t runs = 1 + random() % 50;
    const auto pairs = selection::PairsOf(GaussiansOnASample(q, distance, 1 + i), delta, {});
    ASSERT_TRUE(pairs.ok()) << pairs.status();
    const Options options{.relative_gap = 1e-6};
    const auto truth = ComputeEpsilon(Of(SampledGaussianPair(q, distance), runs), delta, options);
    const auto above = ComputeEpsilon(Of(pairs->upper, runs), delta, options);
    const auto below = ComputeEpsilon(Of(pairs->lower, runs), delta, options);
    ASSERT_TRUE(truth.ok() && above.ok() && below.ok());
    const std::string where =
        std::to_string(q) + " " + std::to_string(distance) + " " + std::to_string(delta);
    EXPECT_GE(above->value.upper(), truth->value.lower()) << where;
    EXPECT_LE(below->value.lower(), truth->value.upper()) << where;
    narrow += above->value.upper() - below->value.lower() <= 1e-3 * truth->value.upper();
  }
  EXPECT_GE(narrow, 9);
}

// Where nearly all outcomes show nothing, the window once cut away those that show much.
TEST(SampledRun, RarelySampledRunsHaveALowerEnd) {
  for (const double q : {0.02, 0.01}) {
    for (const double distance : {2.0, 4.0}) {
      Composition composition;
      composition.curves.push_back({GaussiansOnASample(q, distance, 16), 10});
      const auto epsilon = ComputeEpsilon(composition, 1e-6, {});
      ASSERT_TRUE(epsilon.ok()) << epsilon.status();
      EXPECT_LT(epsilon->value.RelativeGap(), 1e-3) << q << " " << distance;
      const auto truth = ComputeEpsilon(Of(SampledGaussianPair(q, distance), 10), 1e-6, {});
      EXPECT_LE(epsilon->value.lower(), truth->value.upper());
      EXPECT_GE(epsilon->value.upper(), truth->value.lower());
    }
  }
}

// The greatest loss of a sample of two losses of at most a half each.
TEST(SampledRun, AtDeltaZeroIsTheGreatestLoss) {
  Composition run;
  const Pair pair = LaplacePair(0.5, Bound::kUpper);
  run.pairs.push_back({pair, pair, std::nullopt, 2});
  Composition composition;
  composition.curves.push_back({SampledRun{std::make_shared<const Composition>(run), 0.1}, 1});
  EXPECT_NEAR(ComputeEpsilon(composition, 0, {})->value.upper(), std::log(0.9 + 0.1 * std::exp(1)),
              1e-12);
}

// The control: of a record that is a thousandth farther away, the pair below says more than the
// truth.
TEST(SampledRun, PairsShowAWrongDistance) {
  const auto far = selection::PairsOf(GaussiansOnASample(0.3, 1.001 * 1.5, 4), 1e-6, {});
  const auto near = selection::PairsOf(GaussiansOnASample(0.3, 0.999 * 1.5, 4), 1e-6, {});
  ASSERT_TRUE(far.ok() && near.ok());
  const auto truth = ComputeEpsilon(Of(SampledGaussianPair(0.3, 1.5), 10), 1e-6, {});
  EXPECT_GT(ComputeEpsilon(Of(far->lower, 10), 1e-6, {})->value.lower(), truth->value.upper());
  EXPECT_LT(ComputeEpsilon(Of(near->upper, 10), 1e-6, {})->value.upper(), truth->value.lower());
}

// δ in a direction, by an atom after the other.
double DeltaOf(const Pair& pair, double epsilon, bool add) {
  double sum = 0;
  for (const Atom& atom : pair.atoms) {
    const double p = add ? atom.q : atom.p, q = add ? atom.p : atom.q;
    sum += std::fmax(0, p - std::exp(epsilon) * q);
  }
  return sum;
}

// Of a profile that is known everywhere: of N(1) against N(0), the same in both directions.
TEST(SampledRun, TangentsAreBelowAndChordsAboveAtEveryPoint) {
  const auto profile = [](double epsilon) {
    const auto tail = [](double x) { return std::erfc(x / std::sqrt(2.0)) / 2; };
    return tail(epsilon - 0.5) - std::exp(epsilon) * tail(epsilon + 0.5);
  };
  for (const double step : {0.3, 0.05, 0.01}) {
    std::vector<ProfileBounds> bounds;
    std::vector<ProfilePoint> points;
    for (double epsilon = 0; epsilon < 6; epsilon += step) {
      const double delta = profile(epsilon);
      bounds.push_back({epsilon, delta * (1 - 1e-9), delta * (1 + 1e-9)});
      points.push_back({epsilon, delta * (1 + 1e-9)});
    }
    const Pair upper = PairOfProfile(points, points);
    const Pair lower =
        PairOfProfile(PointsBelow(bounds, bounds), PointsBelow(bounds, bounds), Bound::kLower);
    for (const bool add : {false, true}) {
      for (double epsilon = 0; epsilon < 5.5; epsilon += 0.0173) {
        const double truth = profile(epsilon), above = DeltaOf(upper, epsilon, add),
                     below = DeltaOf(lower, epsilon, add);
        EXPECT_GE(above, truth * (1 - 1e-12)) << epsilon;
        EXPECT_LE(below, truth * (1 + 1e-12)) << epsilon;
        const bool fine = step == 0.01 && epsilon < 4;
        EXPECT_LE(above - below, fine ? 2e-2 * truth : 1) << epsilon;
      }
    }
  }
}

// Nothing is lost where both ends of the profile meet.
TEST(SampledRun, MassesOfThePairBelowAreOneUpToRounding) {
  const auto pairs = selection::PairsOf(GaussiansOnASample(0.3, 1.5, 4), 1e-6, {});
  ASSERT_TRUE(pairs.ok());
  double p = 0, q = 0;
  for (const Atom& atom : pairs->lower.atoms) {
    p += atom.p;
    q += atom.q;
  }
  EXPECT_NEAR(p, 1, 1e-7);
  EXPECT_NEAR(q, 1, 1e-7);
  EXPECT_LE(p, 1 + 1e-12);
  EXPECT_LE(q, 1 + 1e-12);
}

}  // namespace
}  // namespace dpledger::accountant
