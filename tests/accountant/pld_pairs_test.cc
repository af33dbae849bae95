// Compositions of pairs other than the sampled Gaussian's, against closed forms and enumeration.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "accountant/pair/pairs.h"
#include "accountant/pld/discrete_pair.h"
#include "accountant/pld/pld.h"
#include "base/status.h"

namespace dpledger::accountant {
namespace {

Composition Of(const Pair& pair, uint64_t count) {
  Composition composition;
  composition.pairs.push_back({pair, pair, std::nullopt, count});
  return composition;
}

// Randomized response with (ε, δ)-DP to the full: Kairouz, Oh, Viswanath 2015.
Pair RandomizedResponse(double epsilon, double delta) {
  const double more = (1 - delta) / (1 + std::exp(-epsilon)),
               less = (1 - delta) / (1 + std::exp(epsilon));
  Pair pair{{{more, less}, {less, more}}, {}, 1e-15, true};
  if (delta > 0) {
    pair.atoms.push_back({delta, 0});
    pair.atoms.push_back({0, delta});
  }
  return pair;
}

// δ of k of them at any ε, a sum over how many answers were the likely ones.
long double ComposedResponse(long double epsilon0, long double delta0, int k, long double epsilon) {
  const long double more = 1 / (1 + std::exp(-epsilon0)), less = 1 - more;
  long double sum = 0;
  for (int i = 0; i <= k; ++i) {
    const long double loss = (2 * i - k) * epsilon0;
    const long double ways =
        std::exp(std::lgamma(k + 1.0L) - std::lgamma(i + 1.0L) - std::lgamma(k - i + 1.0L));
    if (loss > epsilon)
      sum += ways * std::pow(more, i) * std::pow(less, k - i) * -std::expm1(epsilon - loss);
  }
  const long double log_finite = k * std::log1p(-delta0);
  return -std::expm1(log_finite) + std::exp(log_finite) * sum;
}

// A Laplace mechanism of scale b, sampled with probability q: outcomes below 0 and above 1, and
// between them the loss is linear.
Pair SampledLaplace(double q, double b) {
  const double far = std::exp(-1 / b);
  Pair pair;
  pair.atoms = {{(1 - q) * far / 2 + q / 2, far / 2}, {(1 - q) / 2 + q * far / 2, 0.5}};
  DensityPiece piece{0, 1, -std::log(2 * b), -1 / b, 0, {}, {{0, 0}}};
  if (q < 1) piece.p.push_back({std::log1p(-q), 0});
  piece.p.push_back({std::log(q) - 1 / b, 2 / b});
  pair.pieces = {piece};
  pair.relative_error = 1e-15;
  pair.symmetric = q == 1;
  return pair;
}

// The discrete Gaussian of parameter sigma against itself moved by one.
Pair DiscreteGaussian(double sigma) {
  Pair pair;
  const int reach = static_cast<int>(12 * sigma) + 2;
  double total = 0;
  for (int k = -reach; k <= reach; ++k) total += std::exp(-k * k / (2 * sigma * sigma));
  for (int k = -reach; k <= reach; ++k) {
    pair.atoms.push_back({std::exp(-(k - 1) * (k - 1) / (2 * sigma * sigma)) / total,
                          std::exp(-k * k / (2 * sigma * sigma)) / total});
  }
  pair.relative_error = 1e-14;
  pair.symmetric = true;
  return pair;
}

void ExpectDelta(const Composition& composition, double epsilon, long double truth, double gap) {
  const auto bounds = pld::Delta(composition, epsilon, gap, {});
  ASSERT_TRUE(bounds.ok()) << bounds.status();
  // The truths themselves are rounded to some 1e-17 relatively.
  EXPECT_LE(bounds->value.lower(), truth * (1 + 1e-15L)) << epsilon;
  EXPECT_GE(bounds->value.upper(), truth * (1 - 1e-15L)) << epsilon;
  EXPECT_LE(bounds->value.RelativeGap(), gap) << epsilon;
}

TEST(PldPairs, RandomizedResponseMeetsItsClosedForm) {
  for (const int k : {1, 2, 7, 30, 1000}) {
    for (const double delta0 : {0.0, 1e-3, 1e-9}) {
      for (const double epsilon : {0.05, 1.3, 9.7, 22.0}) {
        const long double truth = ComposedResponse(1, delta0, k, epsilon);
        if (truth < 1e-300L) continue;
        ExpectDelta(Of(RandomizedResponse(1, delta0), k), epsilon, truth, 1e-8);
      }
    }
  }
}

TEST(PldPairs, ThirtyResponsesOfOneThousandthAtSixHundredths) {
  const auto bounds = pld::Epsilon(Of(RandomizedResponse(1, 0.001), 30), 0.06, 1e-6, {});
  ASSERT_TRUE(bounds.ok());
  EXPECT_LE(bounds->value.upper(), 22);
  EXPECT_GT(bounds->value.lower(), 20);
}

TEST(PldPairs, MoreInfiniteLossThanDeltaIsInfinite) {
  const auto bounds = pld::Epsilon(Of(RandomizedResponse(1, 0.001), 30), 0.02, 1e-3, {});
  ASSERT_TRUE(bounds.ok());
  EXPECT_EQ(bounds->value.upper(), std::numeric_limits<double>::infinity());
  EXPECT_EQ(bounds->value.lower(), std::numeric_limits<double>::infinity());
}

// The control: a response 1 % more (less) revealing is seen to be out.
TEST(PldPairs, AnotherResponseIsCaught) {
  const long double truth = ComposedResponse(1, 0, 30, 5);
  EXPECT_GT(pld::Delta(Of(RandomizedResponse(1.01, 0), 30), 5, 1e-6, {})->value.lower(), truth);
  EXPECT_LT(pld::Delta(Of(RandomizedResponse(0.99, 0), 30), 5, 1e-6, {})->value.upper(), truth);
}

TEST(PldPairs, ResponsesOfIncommensurateLossesStayInside) {
  // One of each: four outcomes.
  const double a = 1, b = std::sqrt(0.5);
  Composition composition = Of(RandomizedResponse(a, 0), 1);
  composition.pairs.push_back(
      {RandomizedResponse(b, 0), RandomizedResponse(b, 0), std::nullopt, 1});
  for (const double epsilon : {0.1, 0.5, 1.2}) {
    long double truth = 0;
    for (const int i : {-1, 1}) {
      for (const int j : {-1, 1}) {
        const long double p = 1 / (1 + std::exp(-i * static_cast<long double>(a))) /
                              (1 + std::exp(-j * static_cast<long double>(b)));
        const long double loss = i * static_cast<long double>(a) + j * static_cast<long double>(b);
        if (loss > epsilon) truth += p * -std::expm1(epsilon - loss);
      }
    }
    ExpectDelta(composition, epsilon, truth, 1e-3);
  }
}

TEST(PldPairs, LaplaceMeetsItsClosedForm) {
  for (const double b : {0.3, 1.0, 8.0}) {
    for (const double share : {0.01, 0.3, 0.9}) {
      const double epsilon = share / b;
      ExpectDelta(Of(SampledLaplace(1, b), 1), epsilon, -std::expm1((epsilon - 1 / b) / 2), 1e-5);
    }
  }
}

TEST(PldPairs, SampledLaplaceEndsAtItsGreatestLoss) {
  const Composition composition = Of(SampledLaplace(0.2, 0.5), 3);
  const double greatest = 3 * std::log(0.8 + 0.2 * std::exp(2));
  const auto bounds = pld::Epsilon(composition, 1e-12, 1e-4, {});
  ASSERT_TRUE(bounds.ok());
  EXPECT_NEAR(bounds->value.upper(), greatest, 1e-4 * greatest);
  EXPECT_NEAR(bounds->value.lower(), greatest, 1e-4 * greatest);
  EXPECT_NEAR(greatest, 2.46964, 1e-5);
}

TEST(PldPairs, DiscreteGaussianMeetsEnumeration) {
  const double sigma = 1.5;
  const Pair pair = DiscreteGaussian(sigma);
  // Loss of outcome k is (2k - 1)/(2 σ²); three of them: sums of k.
  std::map<int, long double> one, three;
  long double total = 0;
  for (int k = -40; k <= 40; ++k) total += std::exp(-k * k / (2.0L * sigma * sigma));
  for (int k = -40; k <= 40; ++k)
    one[k] = std::exp(-(k - 1) * (k - 1) / (2.0L * sigma * sigma)) / total;
  for (const auto& [i, a] : one)
    for (const auto& [j, b] : one)
      for (const auto& [k, c] : one) three[i + j + k] += a * b * c;
  for (const double epsilon : {0.1, 1.0, 4.0}) {
    long double truth = 0;
    for (const auto& [k, p] : three) {
      const long double loss = (2 * k - 3) / (2.0L * sigma * sigma);
      if (loss > epsilon) truth += p * -std::expm1(epsilon - loss);
    }
    ExpectDelta(Of(pair, 3), epsilon, truth, 1e-9);
  }
}

// Dense atoms that no mesh meets.
TEST(PldPairs, AtomsBetweenGridPointsAreBoundedFromBothSides) {
  const Pair pair = DiscreteGaussian(6);
  const auto shares = pld::Shares::Of(pair, 0.05, 1e-15, 1 << 20, {});
  const pld::DiscretePair upper = shares->Upper(), lower = shares->Lower();
  const auto delta = [](const pld::DiscretePair& on, double epsilon) {
    long double sum = 0;
    for (size_t j = 0; j < on.mass.size(); ++j) {
      const long double x = on.first_loss + on.step * static_cast<long double>(j);
      if (x > epsilon) sum += on.mass[j] * -std::expm1(epsilon - x);
    }
    return sum;
  };
  for (const double epsilon : {0.0, 0.1, 0.2, 0.4}) {
    long double truth = 0;
    for (const Atom& atom : pair.atoms)
      truth += std::fmax(0.0L, atom.p - std::exp(static_cast<long double>(epsilon)) * atom.q);
    EXPECT_LE(delta(lower, epsilon), truth * (1 + 1e-12L)) << epsilon;
    EXPECT_GE(delta(upper, epsilon), truth * (1 - 1e-12L)) << epsilon;
    EXPECT_GT(delta(lower, epsilon), 0.9L * truth) << epsilon;
    EXPECT_LT(delta(upper, epsilon), 1.1L * truth) << epsilon;
  }
}

TEST(PldPairs, MixedWithSampledGaussiansBothAreCounted) {
  Composition composition = Of(RandomizedResponse(0.5, 0), 2);
  composition.steps.push_back({1, {2, 2}, 4});
  // A Gaussian of μ = 1 and two responses: a sum of three Gaussian profiles.
  const auto gaussian = [](long double epsilon) {
    const auto tail = [](long double x) { return 0.5L * std::erfc(x / std::sqrt(2.0L)); };
    return tail(epsilon - 0.5L) - std::exp(epsilon) * tail(epsilon + 0.5L);
  };
  const long double more = 1 / (1 + std::exp(-0.5L)), less = 1 - more;
  for (const double epsilon : {0.3, 1.5, 4.0}) {
    const long double truth = more * more * gaussian(epsilon - 1.0L) +
                              2 * more * less * gaussian(epsilon) +
                              less * less * gaussian(epsilon + 1.0L);
    ExpectDelta(composition, epsilon, truth, 1e-3);
  }
}

// Beside the edge of its loss a step of little signal has cells that reach thousands of standard
// deviations into nothing; panels over all of them once took 8 GB, and the program's end.
TEST(PldPairs, StepsOfHardlyAnySignalCostNoMoreThanOthers) {
  Composition composition = Of(LaplacePair(0.01, Bound::kUpper), 1);
  composition.steps.push_back({0.01, {1000, 1000}, 1});
  composition.steps.push_back({0.01, {1, 1}, 10000});
  const auto bounds = pld::Epsilon(composition, 1e-5, 1e-4, {});
  ASSERT_TRUE(bounds.ok()) << bounds.status();
  // Without the step of hardly any signal, by a contour integral at two periods.
  EXPECT_TRUE(bounds->value.Contains(6.1879073642763)) << bounds->value.upper();
  EXPECT_LE(bounds->value.RelativeGap(), 2e-4);
}

// A lattice by itself asks for a mesh that its own points are on, or one as fine as its steps need;
// a mesh of .05 once made 300,000 such responses cost 15.7 in place of 1.17.
TEST(PldPairs, ManyWeakResponsesKeepTheirLattice) {
  constexpr double kEach = 0.0005;
  constexpr int kCount = 300000;
  const auto bounds =
      pld::Epsilon(Of(EpsilonDeltaPair(kEach, 0, Bound::kUpper), kCount), 1e-6, 1e-4, {});
  ASSERT_TRUE(bounds.ok()) << bounds.status();
  const auto delta = [](double epsilon) {
    const long double log_p = -std::log1p(std::exp(-static_cast<long double>(kEach)));
    long double sum = 0;
    for (int i = kCount / 2; i <= kCount; ++i) {
      const long double loss = (2.0L * i - kCount) * kEach;
      if (loss <= epsilon) continue;
      const long double log_mass = std::lgamma(kCount + 1.0L) - std::lgamma(i + 1.0L) -
                                   std::lgamma(kCount - i + 1.0L) + kCount * log_p -
                                   (kCount - i) * static_cast<long double>(kEach);
      sum += std::exp(log_mass) * -std::expm1(epsilon - loss);
    }
    return static_cast<double>(sum);
  };
  EXPECT_GE(delta(bounds->value.lower()), 1e-6 * (1 - 1e-8));
  EXPECT_LE(delta(bounds->value.upper()), 1e-6 * (1 + 1e-8));
  EXPECT_LE(bounds->value.RelativeGap(), 1e-4);
}

TEST(PldPairs, CurvesAreRefusedByName) {
  Composition composition = Of(RandomizedResponse(1, 0), 1);
  composition.curves.push_back({ZeroConcentrated{0.1, 0}, 1});
  const auto bounds = pld::Epsilon(composition, 1e-5, 1e-3, {});
  EXPECT_EQ(bounds.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ReasonOf(bounds.status()).reason, "METHOD_DOES_NOT_APPLY");
  EXPECT_NE(bounds.status().message().find("Rényi curve"), std::string::npos);
}

}  // namespace
}  // namespace dpledger::accountant
