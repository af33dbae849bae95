// Samples of what is zCDP and no more is known of.
#include "accountant/mechanism/sampled_curve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "accountant/accountant.h"

namespace dpledger::accountant {
namespace {

using Law = std::array<double, 3>;

double Moment(const Law& p, const Law& r, double k) {  // E_r[(p/r)^k]
  double sum = 0;
  for (size_t i = 0; i < p.size(); ++i) sum += std::pow(p[i], k) * std::pow(r[i], 1 - k);
  return sum;
}

Law Mixed(double q, const Law& p, const Law& r) {
  Law mixed;
  for (size_t i = 0; i < p.size(); ++i) mixed[i] = q * p[i] + (1 - q) * r[i];
  return mixed;
}

// What a sample of mechanisms of three outcomes shows, over the bound, at most. (Their ρ is the
// least one at the whole orders that the bound uses.)
double Closest(SampleOf kind) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  double closest = 0;
  for (int i = 0; i < 3000; ++i) {
    const double width = std::array{0.01, 0.1, 0.5, 2.0}[random() % 4];
    const double q = std::array{0.001, 0.1, 0.5, 0.9}[random() % 4];
    const int order = 2 + static_cast<int>(random() % 8);
    std::array<Law, 3> laws;
    for (Law& law : laws) {
      for (double& mass : law) mass = std::exp(width * normal(random));
      const double total = law[0] + law[1] + law[2];
      for (double& mass : law) mass /= total;
    }
    double rho = 0;
    for (const Law& p : laws) {
      for (const Law& r : laws) {
        if (&p == &r || (kind == SampleOf::kPoisson && (&p == &laws[2] || &r == &laws[2])))
          continue;
        for (int k = 2; k <= order; ++k)
          rho = std::max(rho, std::log(Moment(p, r, k)) / (k * (k - 1)));
      }
    }
    double truth = 0;
    if (kind == SampleOf::kFixedSize) {
      truth = Moment(Mixed(q, laws[0], laws[2]), Mixed(q, laws[1], laws[2]), order);
    } else {
      for (const auto& [p, r] : {std::pair(laws[0], laws[1]), std::pair(laws[1], laws[0])}) {
        truth =
            std::max({truth, Moment(Mixed(q, p, r), r, order), Moment(r, Mixed(q, p, r), order)});
      }
    }
    const double bound = SampledCurve(kind, q, {rho, 0}).epsilons[static_cast<size_t>(order) - 2];
    const double shown = std::log(truth) / (order - 1);
    if (bound < 1e-9) continue;  // the enumeration's rounding
    EXPECT_LE(shown, bound * (1 + 1e-6)) << rho << " " << q << " " << order;
    closest = std::max(closest, shown / bound);
  }
  return closest;
}

TEST(SampledCurve, IsAboveMechanismsOfThatRho) {
  EXPECT_GT(Closest(SampleOf::kPoisson), 0.4) << "or the test shows nothing";
  EXPECT_GT(Closest(SampleOf::kFixedSize), 0.2) << "or the test shows nothing";
}

// Where nearly all of the sum cancels.
TEST(SampledCurve, IsExactForSmallRho) {
  for (const double rho : {1e-12, 1e-6, 1e-3}) {
    for (const double q : {1e-4, 0.1, 0.999}) {
      const OrdersCurve curve = SampledCurve(SampleOf::kPoisson, q, {rho, 0});
      for (size_t i = 0; i < curve.orders.size(); ++i) {
        const int order = static_cast<int>(curve.orders[i]);
        long double chosen = 1, excess = 0;  // C(α,k)
        for (int k = 1; k <= order; ++k) {
          chosen *= static_cast<long double>(order - k + 1) / k;
          excess += chosen * std::pow(1.0L - q, order - k) *
                    std::pow(static_cast<long double>(q), k) *
                    std::expm1(static_cast<long double>(rho) * k * (k - 1));
        }
        const double once = static_cast<double>(std::log1p(excess) / (order - 1));
        const double twice = static_cast<double>(std::log1p(2 * excess) / (order - 1));
        EXPECT_GE(curve.epsilons[i], std::min(once, rho * order))
            << rho << " " << q << " " << order;
        EXPECT_LE(curve.epsilons[i], std::min(twice, rho * order) * (1 + 1e-8))
            << rho << " " << q << " " << order;
      }
    }
  }
}

Interval EpsilonOf(const Mechanism& mechanism, Adjacency adjacency) {
  History history;
  history.Add("w", mechanism);
  const auto composition = Resolve(history, adjacency);
  EXPECT_TRUE(composition.ok()) << composition.status();
  if (!composition.ok()) return {0, 0};
  const auto answer = ComputeEpsilon(*composition, 1e-6, {});
  EXPECT_TRUE(answer.ok()) << answer.status();
  return answer->value;
}

// A mechanism of that ρ may be Gaussian: what a sample of that one costs is the lower end.
TEST(SampledCurve, AnswersHoldASampleOfGaussianNoise) {
  const auto poisson = [](Mechanism part) {
    return Mechanism{128, PoissonSampled{.01, {std::move(part)}}};
  };
  const auto fixed = [](Mechanism part) {
    return Mechanism{128, SampledWithoutReplacement{1000, 16, {std::move(part)}}};
  };
  const auto add = Adjacency::kAddOrRemoveOne, replace = Adjacency::kReplaceOne;
  for (const double z : {1.0, 5.0}) {
    const Mechanism gaussian{1, Gaussian{z}};
    const Interval sampled = EpsilonOf(poisson(gaussian), add);
    const Interval stated = EpsilonOf(poisson({1, ZCDp{.5 / z / z, 0}}), add);
    EXPECT_NEAR(stated.lower(), sampled.lower(), 1e-6 * sampled.lower());
    EXPECT_LE(stated.lower(), sampled.upper());
    EXPECT_GT(stated.upper(), sampled.upper());
    EXPECT_LT(stated.upper(), 4 * sampled.upper());
    // Replacing moves the sum by twice as much.
    const Interval replaced = EpsilonOf(fixed(gaussian), replace);
    const Interval declared = EpsilonOf(fixed({1, ZCDp{2 / z / z, 0}}), replace);
    EXPECT_LE(declared.lower(), replaced.upper());
    EXPECT_NEAR(declared.lower(), replaced.lower(), 1e-4 * replaced.lower());
    EXPECT_GT(declared.upper(), replaced.upper());
  }
  // Discrete noise of several dimensions is of that ρ too, but no Gaussian.
  const Interval discrete = EpsilonOf(poisson({1, DiscreteGaussian{3, 1, 10}}), add);
  EXPECT_EQ(discrete.upper(), EpsilonOf(poisson({1, ZCDp{1.0 / 18, 0}}), add).upper());
  EXPECT_EQ(discrete.lower(), 0);
  // The whole of the records is no sample.
  EXPECT_EQ(EpsilonOf({1, PoissonSampled{1, {{1, ZCDp{.1, 0}}}}}, add).upper(),
            EpsilonOf({1, ZCDp{.1, 0}}, add).upper());
}

// Rounds of discrete noise are the event of the same ρ; Gaussian queries on the same sample add
// theirs.
TEST(SampledCurve, RoundsAreAsTheirEvents) {
  const auto upper = [](const SamplingScheme& scheme, std::vector<SumQuery> queries,
                        Adjacency adjacency) {
    History history;
    history.Add("w", RoundsEvent{{scheme, std::move(queries)}, 1});
    const auto composition = Resolve(history, adjacency);
    EXPECT_TRUE(composition.ok()) << composition.status();
    return ComputeEpsilon(composition.value_or(Composition()), 1e-6, {})->value.upper();
  };
  const auto event = [](double rho) {
    return Mechanism{1, PoissonSampled{.1, {{1, ZCDp{rho, 0}}}}};
  };
  const SumQuery discrete{"d", 1, 2, NoiseKind::kDiscreteGaussian}, gaussian{"g", 1, 2};
  const auto add = Adjacency::kAddOrRemoveOne, replace = Adjacency::kReplaceOne;
  const SamplingScheme poisson{100, PoissonSampling{.1}};
  EXPECT_NEAR(upper(poisson, {discrete}, add), EpsilonOf(event(1.0 / 8), add).upper(), 1e-9);
  EXPECT_NEAR(upper(poisson, {discrete, gaussian}, add), EpsilonOf(event(1.0 / 4), add).upper(),
              1e-9);
  EXPECT_NEAR(
      upper({100, WithoutReplacement{10}}, {discrete}, replace),
      EpsilonOf({1, SampledWithoutReplacement{100, 10, {{1, ZCDp{.5, 0}}}}}, replace).upper(),
      1e-9);
  EXPECT_NEAR(upper({100, WithoutReplacement{100}}, {discrete}, replace),
              EpsilonOf({1, ZCDp{.5, 0}}, replace).upper(), 1e-9);
}

}  // namespace
}  // namespace dpledger::accountant
