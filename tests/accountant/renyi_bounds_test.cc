// The Rényi moments as bounds: each error is made the largest one, and the bound must still be
// above the moment.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "accountant/rdp/piece_integral.h"
#include "accountant/rdp/sampled_gaussian.h"
#include "tests/accountant/exact_gaussian.h"

namespace dpledger::accountant::rdp {
namespace {

using exact::Real;

// Exponents in the millions: a sum in doubles is off by many times what else a moment's bound
// holds.
TEST(MomentBounds, HoldWhereRoundingIsTheLargestError) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> uniform;
  int off = 0;
  for (int i = 0; i < 40; ++i) {
    const double log_q = -250 - 350 * uniform(random), mu = 0.3 + 0.5 * uniform(random);
    const double q = std::exp(log_q);
    // Past where (1+u)^α is near one, before Minkowski's inequality is as good as equality.
    const double order = 1 + 2 * (-log_q + 2 + 30 * uniform(random)) / (mu * mu);
    const double found = SampledGaussianMoments(q, mu).LogMomentUp(order);
    const Real truth = exact::LogMoment(q, mu, order);
    EXPECT_GE(found, truth) << q << " " << mu << " " << order;
    EXPECT_LE(found, truth + 1e-12L * order * -log_q) << q << " " << mu << " " << order;
    off += found > truth * (1 + 1e-13L);
  }
  EXPECT_GT(off, 30) << "rounding is not what is asked about";
}

// A Gaussian pair whose densities are written with a factor that cancels.
TEST(PieceMomentBounds, HoldWhereRoundingIsTheLargestError) {
  constexpr double kFactor = 1e5, kInfinity = std::numeric_limits<double>::infinity();
  std::mt19937_64 random(4);
  std::uniform_real_distribution<double> uniform(0.5, 3);
  for (int i = 0; i < 40; ++i) {
    const double mu = uniform(random), order = 1 + uniform(random);
    const double p = kFactor - mu * mu / 2, q = kFactor, constant = -kFactor;
    const DensityPiece piece{-kInfinity, kInfinity, constant, 0, -0.5, {{p, mu}}, {{q, 0}}};
    const Real a = order, linear = a * mu;
    const Real truth =
        constant + a * p - (a - 1) * q + linear * linear / 2 + std::log(2 * std::acos(-1.0L)) / 2;
    const double found = LogPieceMomentUp(piece, Direction::kRemove, order);
    EXPECT_GE(found, truth) << mu << " " << order;
    EXPECT_LE(found, truth + 1e-8) << mu << " " << order;
  }
}

// Nodes end 2 to 5 standard deviations from the peaks instead of 11.
TEST(MomentBounds, HoldWhereTheTailsAreTheLargestError) {
  for (const double mu : {0.2, 1.0, 2.5}) {
    for (const double q : {1e-3, 0.05, 0.6, 0.97}) {
      for (const double order : {1.05, 1.7, 2.5, 6.0, 30.0}) {
        const Real truth = exact::LogMoment(q, mu, order);
        for (const double reach : {2.0, 3.0, 5.0}) {
          SampledGaussianMoments moments(q, mu, reach);
          EXPECT_GE(moments.LogMomentUp(order), truth - 1e-18L)
              << q << " " << mu << " " << order << " reach " << reach;
        }
      }
    }
  }
}

// The step makes the quadrature's error too small to be seen in any moment, so that nothing but
// this notices a bound without it: A - 1 is 1e-70 here, and the bound what CLAIM.md's row states.
TEST(MomentBounds, StateTheErrorOfTheQuadrature) {
  const double stated = 3 * std::exp(-139.2);
  EXPECT_NEAR(SampledGaussianMoments(1e-32, 0.05).LogMomentUp(1.001) / stated, 1, 1e-6);
}

// e^y was once taken out of the logarithm where q e^y is far below 1, and losses lost their digits.
// By a trapezoid of 330 digits.
TEST(MomentBounds, HoldAtSamplingProbabilitiesFarBelowRounding) {
  const double found = SampledGaussianMoments(1e-32, 7).LogMomentUp(1.001);
  EXPECT_GE(found, 5.6394960240602959357e-47);
  EXPECT_LE(found, 5.6394960240602959357e-47 * (1 + 1e-6));
}

// 1 + u comes within rounding of 0 there, and what was left of its logarithm entered the sum.
TEST(MomentBounds, HoldAtSamplingProbabilitiesWithinRoundingOfOne) {
  for (const double rest : {0x1p-53, 0x1p-45, 1e-9, 1e-4}) {
    for (const double mu : {0.5, 3.0, 6.0, 1 / 0.12}) {
      for (const double order : {1.001, 1.01}) {
        const Real truth = exact::LogMoment(1 - rest, mu, order);
        const double found = SampledGaussianMoments(1 - rest, mu).LogMomentUp(order);
        EXPECT_GE(found, truth - 1e-17L) << rest << " " << mu << " " << order;
        EXPECT_LE(found, truth * (1 + 1e-6L)) << rest << " " << mu << " " << order;
      }
    }
  }
}

}  // namespace
}  // namespace dpledger::accountant::rdp
