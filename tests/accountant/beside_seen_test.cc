// Steps of hardly any noise beside others, against quadratures over one such step's outputs in long
// double, and against the loss grid, which takes them as they are.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "accountant/accountant.h"
#include "tests/accountant/exact_gaussian.h"

namespace dpledger::accountant {
namespace {

using exact::NormalTail;
using exact::Real;

struct Case {
  double q, z;
  Neighbours neighbours;
};
constexpr uint64_t kGroup = 3;
Neighbours Groups() {
  Neighbours groups = Adjacency::kAddOrRemoveOne;
  groups.group_size = kGroup;
  return groups;
}
const Neighbours kOne = Adjacency::kAddOrRemoveOne, kReplaced = Adjacency::kReplaceOne,
                 kThree = Groups();

// `count` sampled steps beside one Gaussian.
Composition Beside(const Case& of, uint64_t count = 1) {
  SamplingScheme sampled, all;
  sampled.kind = PoissonSampling{of.q};
  all.kind = FullBatch{};
  History history;
  history.Add("", RoundsEvent{{sampled, {{"", 1.0, of.z}}}, count});
  history.Add("", RoundsEvent{{all, {{"", 1.0, 1.9}}}, 1});
  const auto composition = Resolve(history, of.neighbours);
  EXPECT_TRUE(composition.ok()) << composition.status();
  return *composition;
}

// E_γ of a Gaussian of this mean, γ = e^x for any x.
Real GaussianProfile(Real mean, Real x) {
  if (x > 1000) return 0;
  return NormalTail(x / mean - mean / 2) - std::exp(x) * NormalTail(x / mean + mean / 2);
}

// How many records of the group are in the sample, from 0 on, and how far each moves the mean.
struct Law {
  std::vector<Real> probabilities;
  Real mean;
  // log of the density over the standard normal's.
  Real LogRatio(Real t) const {
    Real most = -1e300L, sum = 0;
    for (const bool summing : {false, true}) {
      for (size_t k = 0; k < probabilities.size(); ++k) {
        const Real moved = k * mean;
        const Real log = std::log(probabilities[k]) + moved * t - moved * moved / 2;
        if (summing) sum += std::exp(log - most);
        most = summing ? most : std::fmax(most, log);
      }
    }
    return most + std::log(sum);
  }
};

// δ(ε) of one sampled step beside it, P against Q: what is left by each output of the step, which
// stand around multiples of P's mean.
Real DeltaBeside(const Case& of, Direction direction, Real epsilon) {
  constexpr Real kStep = 1.0L / 64, kReach = 12;
  const Real q = of.q, mu = 1 / static_cast<Real>(of.z);
  const bool replaced = of.neighbours.adjacency == Adjacency::kReplaceOne;
  const Real beside = of.neighbours.group_size * (replaced ? 2 : 1) / 1.9L;
  Law with{{1 - q, q}, mu}, without{{1}, 0};
  if (of.neighbours.group_size == kGroup)
    with.probabilities = {std::pow(1 - q, 3), 3 * q * (1 - q) * (1 - q), 3 * q * q * (1 - q),
                          q * q * q};
  if (replaced) without = {{1 - q, q}, -mu};
  const Law& p = direction == Direction::kRemove ? with : without;
  const Law& other = direction == Direction::kRemove ? without : with;
  Real sum = 0;
  for (size_t k = 0; k < p.probabilities.size(); ++k) {
    for (Real s = -kReach; s <= kReach; s += kStep) {
      const Real t = k * p.mean + s;
      sum += p.probabilities[k] * std::exp(-s * s / 2) *
             GaussianProfile(beside, epsilon - (p.LogRatio(t) - other.LogRatio(t)));
    }
  }
  return sum * kStep / std::sqrt(2 * std::acos(-1.0L));
}

std::vector<Case> Cases(const std::vector<double>& probabilities) {
  std::vector<Case> cases;
  for (const Neighbours& neighbours : {kOne, kReplaced, kThree}) {
    for (const double z : {0.04, 1e-3, 1e-6}) {
      for (const double q : probabilities)
        cases.push_back({q / static_cast<double>(neighbours.group_size), z, neighbours});
    }
  }
  return cases;
}

std::string Name(const Case& of) {
  return absl::StrCat(AdjacencyName(of.neighbours.adjacency), " ", of.neighbours.group_size, " q ",
                      of.q, " z ", of.z);
}

TEST(BesideSeen, EpsilonIsThatOfTheQuadrature) {
  for (const Case& of : Cases({1e-9, 1e-6, 0.05})) {
    for (const Direction direction : {Direction::kRemove, Direction::kAdd}) {
      const double delta = of.q < 1e-3 ? 1e-3 : 0.055;
      const auto answer = ComputeEpsilon(Beside(of), delta, {}, direction);
      ASSERT_TRUE(answer.ok()) << answer.status();
      const Interval& epsilon = answer->value;
      EXPECT_GE(DeltaBeside(of, direction, epsilon.lower()), delta * (1 - 1e-12)) << Name(of);
      EXPECT_LE(DeltaBeside(of, direction, epsilon.upper()), delta * (1 + 1e-12)) << Name(of);
      EXPECT_LT(answer->value.RelativeGap(), 1e-4) << Name(of);
    }
  }
}

TEST(BesideSeen, DeltaIsThatOfTheQuadrature) {
  for (const Case& of : Cases({1e-6, 0.3, 0.99})) {
    for (const double epsilon : {1e-3, 0.5, 3.0}) {
      for (const Direction direction : {Direction::kRemove, Direction::kAdd}) {
        const auto answer = ComputeDelta(Beside(of), epsilon, {}, direction);
        ASSERT_TRUE(answer.ok()) << answer.status();
        const auto truth = static_cast<double>(DeltaBeside(of, direction, epsilon));
        EXPECT_GE(truth, answer->value.lower() * (1 - 1e-12)) << Name(of) << " " << epsilon;
        EXPECT_LE(truth, answer->value.upper() * (1 + 1e-12)) << Name(of) << " " << epsilon;
        EXPECT_LT(answer->value.RelativeGap(), 1e-4) << Name(of) << " " << epsilon;
      }
    }
  }
}

// A record that is in some sample for sure, but for e^{-6e15}.
TEST(BesideSeen, DeltaIsNoLessThanOneWhereARecordIsSurelySeen) {
  for (const Neighbours& neighbours : {kOne, kReplaced}) {
    for (const double q : {0.5, 0.999999}) {
      for (const uint64_t count : {uint64_t{1} << 45, uint64_t{1} << 52}) {
        const auto answer = ComputeDelta(Beside({q, 1e-3, neighbours}, count), 1, {});
        ASSERT_TRUE(answer.ok()) << answer.status();
        EXPECT_EQ(answer->value.upper(), 1) << q << " " << count;
        EXPECT_GT(answer->value.lower(), 1 - 1e-9) << q << " " << count;
      }
    }
  }
}

// Where the record is in some sample with probability δ or more, an output shows it.
TEST(BesideSeen, LowerEndsFollowFromWhatIsSeen) {
  for (const Neighbours& neighbours : {kOne, kReplaced}) {
    const auto answer = ComputeEpsilon(Beside({1e-3, 1e-3, neighbours}, 3), 1e-6, {});
    ASSERT_TRUE(answer.ok()) << answer.status();
    // δ(ε) is about q Φ((μ²/2 - ε)/μ) there, and half way μ²/8 is shown.
    EXPECT_GT(answer->value.lower(), 1.2e5);
    EXPECT_LT(answer->value.upper(), 3e6);
  }
}

// Of many steps only that the record was in some sample counts.
TEST(BesideSeen, ManyStepsAreOneOfTheirChanceTogether) {
  for (const uint64_t count : {3, 1000, 10000}) {
    const double q = 1e-8, together = -std::expm1(count * std::log1p(-q));
    const auto many = ComputeEpsilon(Beside({q, 1e-3, kOne}, count), 2e-4, {});
    const auto once = ComputeEpsilon(Beside({together, 1e-3, kOne}), 2e-4, {});
    ASSERT_TRUE(many.ok() && once.ok()) << many.status() << once.status();
    EXPECT_LT(many->value.RelativeGap(), 1e-4);
    EXPECT_LE(many->value.lower(), once->value.upper());
    EXPECT_GE(many->value.upper(), once->value.lower());
  }
}

// Where a record is hardly ever in a sample, and nothing else is released.
TEST(BesideSeen, AloneTheyShowNothing) {
  for (const Neighbours& neighbours : {kOne, kReplaced, kThree}) {
    SamplingScheme sampled;
    sampled.kind = PoissonSampling{1e-6};
    History history;
    history.Add("", RoundsEvent{{sampled, {{"", 1.0, 1e-3}}}, 3});
    const auto composition = Resolve(history, neighbours);
    ASSERT_TRUE(composition.ok()) << composition.status();
    const auto none = ComputeEpsilon(*composition, 1e-3, {});
    const auto delta = ComputeDelta(*composition, 0.5, {});
    ASSERT_TRUE(none.ok() && delta.ok()) << none.status() << delta.status();
    EXPECT_EQ(none->value.upper(), 0);
    const double chance = -std::expm1(3.0 * neighbours.group_size * std::log1p(-1e-6));
    EXPECT_TRUE(delta->value.Contains(chance)) << delta->value.lower() << delta->value.upper();
    EXPECT_LT(delta->value.RelativeGap(), 1e-6);
  }
}

TEST(BesideSeen, IsWithinWhatTheLossGridSays) {
  Options grid;
  grid.method = Method::kPld;
  for (const double q : {1e-6, 1e-4}) {
    const Composition composition = Beside({q, 0.045, kOne}, 5);
    const auto by_grid = ComputeEpsilon(composition, 2e-3, grid);
    const auto answer = ComputeEpsilon(composition, 2e-3, {});
    ASSERT_TRUE(by_grid.ok() && answer.ok()) << by_grid.status() << answer.status();
    EXPECT_LE(by_grid->value.lower(), answer->value.upper()) << q;
    EXPECT_GE(by_grid->value.upper(), answer->value.lower()) << q;
    EXPECT_LT(by_grid->value.RelativeGap(), 0.05) << q;
  }
}

}  // namespace
}  // namespace dpledger::accountant
