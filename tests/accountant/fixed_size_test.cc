// Rounds on samples of fixed size: the cells of places against random places, the recursion against
// nested maxima and simulated adversaries that choose their place in sight of the past.
#include "accountant/recursion/fixed_size.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "accountant/accountant.h"
#include "accountant/mechanism/composition.h"
#include "tests/support/sampled_cases.h"

namespace dpledger::accountant {
namespace {

double Phi(double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; }

// Squared distances of both records from w, in units in which the greatest distance is 2, and the
// product of the two directions.
struct Places {
  double first, second, product;
};

Places Exchanged(const Places& at) { return {at.second, at.first, at.product}; }

Places RandomPlaces(std::mt19937_64& random) {
  std::uniform_real_distribution<double> uniform(0, 1);
  double x[3], y[3];
  for (int i = 0; i < 3; ++i) {
    // More often than not at the ball's surface, where the worst are.
    const double radius = uniform(random) < 0.7 ? 1 : std::sqrt(uniform(random));
    const double angle = 2 * M_PI * uniform(random);
    x[i] = radius * std::cos(angle);
    y[i] = radius * std::sin(angle);
  }
  const double ax = x[0] - x[2], ay = y[0] - y[2], bx = x[1] - x[2], by = y[1] - y[2];
  return {ax * ax + ay * ay, bx * bx + by * by, ax * bx + ay * by};
}

// E[(P - kP')_+], by quadrature along the second record's direction and in closed form across it.
double Truth(double share, double distance, const Places& at, double k) {
  const double unit = distance * distance / 4;
  const double a = unit * at.first, b = unit * at.second, c = unit * at.product;
  const double along = b > 0 ? c / std::sqrt(b) : 0;
  const double across = std::sqrt(std::fmax(1e-14, a - along * along));
  const double kStep = 0.01;
  double sum = 0;
  for (double t = -10; t <= 10 + 2 * distance; t += kStep) {
    const double other = std::exp(std::sqrt(b) * t - b / 2);
    const double factor = share * std::exp(along * t - along * along / 2);
    const double strike = ((1 - share) * (k - 1) + k * share * other) / factor;
    double value = factor;
    if (strike > 0) {
      const double d = -std::log(strike) / across + across / 2;
      value = factor * (Phi(d) - strike * Phi(d - across));
    } else {
      value = factor * (1 - strike);
    }
    sum += kStep * std::exp(-t * t / 2) / std::sqrt(2 * M_PI) * value;
  }
  return sum;
}

constexpr double kAt[] = {1, 1.003, 1.02, 1.1, 1.5, 3};

std::vector<Cell> EqualCells(double distance, int parts) {
  std::vector<double> angles;
  for (int i = 0; i < parts; ++i) angles.push_back(kRightAngle * i / parts);
  angles.push_back(kRightAngle);
  return CellsOf(distance, angles);
}

// A cell's hockey sticks, made once.
class Sticks {
 public:
  Sticks(double share, const Cell& cell)
      : above_(Of(share, cell.above)), below_(Of(share, cell.below)) {}
  double Above(double k) const { return Greatest(above_, k); }
  double Below(double k) const { return Greatest(below_, k); }

 private:
  static std::vector<HockeyStick> Of(double share, const std::vector<RatioVariances>& side) {
    std::vector<HockeyStick> sticks;
    for (const RatioVariances& ratios : side) sticks.emplace_back(share, ratios, 1e-20);
    return sticks;
  }
  static double Greatest(const std::vector<HockeyStick>& sticks, double k) {
    double greatest = 0;
    for (const HockeyStick& stick : sticks) greatest = std::fmax(greatest, stick.Up(k));
    return greatest;
  }

  std::vector<HockeyStick> above_, below_;
};

// How many of these places no cell is above of, on both sides.
int Uncovered(double share, double distance, const std::vector<Cell>& cells,
              const std::vector<Places>& all) {
  std::vector<Sticks> sticks;
  for (const Cell& cell : cells) sticks.emplace_back(share, cell);
  const auto is_covered = [&](const Places& at) {
    for (const Places& places : {at, Exchanged(at)}) {
      for (const Sticks& cell : sticks) {
        const bool is_above = std::all_of(std::begin(kAt), std::end(kAt), [&](double k) {
          return cell.Above(k) >= Truth(share, distance, places, k) - 1e-12 &&
                 cell.Below(k) >= Truth(share, distance, Exchanged(places), k) - 1e-12;
        });
        if (is_above) return true;
      }
    }
    return false;
  };
  return static_cast<int>(
      std::count_if(all.begin(), all.end(), [&](const Places& at) { return !is_covered(at); }));
}

std::vector<Places> Draws(int count) {
  std::mt19937_64 random(7);
  std::vector<Places> draws;
  for (int i = 0; i < count; ++i) draws.push_back(RandomPlaces(random));
  return draws;
}

TEST(FixedSizeRound, EveryPlaceIsInACell) {
  for (const int angles : {4, 8}) {
    EXPECT_EQ(Uncovered(0.01, 1, EqualCells(1, angles), Draws(150)), 0) << angles;
    EXPECT_EQ(Uncovered(0.2, 3, EqualCells(3, angles), Draws(60)), 0) << angles;
  }
}

TEST(FixedSizeRound, RightAnglesAreInACell) {
  std::vector<Places> right;
  for (int turn = 0; turn <= 24; ++turn) {
    const double square = std::pow(2 * std::sin(kRightAngle / 24 * turn), 2);
    right.push_back({square, 4 - square, 0});
  }
  EXPECT_EQ(Uncovered(0.01, 1, EqualCells(1, 8), right), 0);
  EXPECT_EQ(Uncovered(0.2, 3, EqualCells(3, 6), right), 0);
}

TEST(FixedSizeRound, AnglesMayBeUnequal) {
  const std::vector<double> angles = {0, 0.08, 0.3, 0.7, 1.1, kRightAngle};
  EXPECT_EQ(Uncovered(0.05, 1, CellsOf(1, angles), Draws(60)), 0);
  EXPECT_GT(Uncovered(0.05, 1, CellsOf(1, {0, 0.08, 0.3}), Draws(60)), 0);
}

// What the tests above are for: cells without one of their reasons do not hold every place.
TEST(FixedSizeRound, CellsHoldNoMoreThanTheyShould) {
  constexpr double kShare = 0.05, kDistance = 1;
  const std::vector<Cell> cells = EqualCells(kDistance, 8);
  const std::vector<Places> draws = Draws(60);
  // The sides exchanged, without the records.
  std::vector<Cell> exchanged = cells;
  for (Cell& cell : exchanged) {
    for (auto* side : {&cell.above, &cell.below}) {
      for (RatioVariances& of : *side) std::swap(of.first, of.second);
    }
  }
  EXPECT_GT(Uncovered(kShare, kDistance, exchanged, draws), 0);
  // The records nearer to each other than they may be.
  std::vector<Cell> nearer = cells;
  for (Cell& cell : nearer) {
    for (auto* side : {&cell.above, &cell.below}) {
      for (RatioVariances& of : *side) {
        const double less = 0.2 * std::fmin(of.first, of.second);
        of.first -= less;
        of.second -= less;
        of.common += less;
      }
    }
  }
  EXPECT_GT(Uncovered(kShare, kDistance, nearer, draws), 0);
  // Only the two ends; and those beside a right angle alone.
  EXPECT_GT(Uncovered(kShare, kDistance, {cells.front()}, draws), 0);
  std::vector<Cell> right = cells;
  std::erase_if(right, [](const Cell& cell) { return cell.above.front().common > 0; });
  EXPECT_EQ(right.size(), 4);
  EXPECT_GT(Uncovered(kShare, kDistance, right, draws), 0);
}

// A record and w with the other one on the circle through them: at these angles.
Places OnCircle(double alpha, double beta) {
  const double a = std::pow(2 * std::sin(alpha), 2), b = std::pow(2 * std::sin(beta), 2);
  return {a, b, (a + b - std::pow(2 * std::sin(alpha + beta), 2)) / 2};
}

// A cell that is wide in one angle alone, `from` to `to`, and has the other one at `at`: the slices
// along it are all that keeps it above. How many values of its pair, on that side, are below the
// truth.
struct WideCell {
  Cell cell;
  bool first_is_wide;
  double from, to, at;

  int BelowTruth() const {
    const Pair pair = PairOfCell(kShare, kDistance, cell, 1e-4, 1e-12);
    const auto above = [&](double k) {
      double sum = 0;
      for (const Atom& atom : pair.atoms)
        sum += std::fmax(0, first_is_wide ? atom.p - k * atom.q : atom.q - k * atom.p);
      return sum;
    };
    int count = 0;
    for (double part = 0.01; part < 1; part += 0.02) {
      const double angle = from + part * (to - from);
      const Places places = first_is_wide ? OnCircle(kRightAngle - angle, at)
                                          : Exchanged(OnCircle(kRightAngle - at, angle));
      for (const double k : kAt)
        count += above(k) < Truth(kShare, kDistance, places, k) * (1 - 1e-9);
    }
    return count;
  }
  // Without the first slice, or the last one.
  WideCell Without(bool first) const {
    WideCell less = *this;
    std::vector<RatioVariances>& slices = first_is_wide ? less.cell.above : less.cell.below;
    slices.erase(first ? slices.begin() : slices.end() - 1);
    return less;
  }

  static constexpr double kShare = 0.05, kDistance = 0.5, kThin = 1e-6;
};

TEST(FixedSizeRound, SlicesHoldTheirPlaces) {
  constexpr double kDistance = WideCell::kDistance, kThin = WideCell::kThin;
  const auto cell = [&](std::vector<double> angles, size_t i) {
    angles.push_back(kRightAngle);
    return CellsOf(kDistance, angles)[i];
  };
  // Where the record's distance from w decides, and where that of both records does.
  const WideCell far_off[] = {
      {cell({0, 0.5, 0.79, 0.8, 0.8 + kThin}, 7), true, 0.5, 0.79, 0.8 + kThin / 2},
      {cell({0, 0.4, 0.4 + kThin, 0.45, 0.75}, 7), false, 0.45, 0.75, 0.4 + kThin / 2}};
  const WideCell apart[] = {{cell({0, 0.5, 0.8, 0.8 + kThin}, 2), true, 0, 0.5, 0.8 + kThin / 2},
                            {cell({0, kThin, 0.6, 1.1}, 2), false, 0.6, 1.1, kThin / 2}};
  for (const WideCell& wide : far_off) {
    EXPECT_EQ(wide.BelowTruth(), 0);
    EXPECT_GT(wide.Without(false).BelowTruth(), 0);
  }
  for (const WideCell& wide : apart) {
    EXPECT_EQ(wide.BelowTruth(), 0);
    EXPECT_GT(wide.Without(true).BelowTruth(), 0);
  }
}

TEST(FixedSizeRound, NoPairIsAboveThatOfTheEnds) {
  constexpr double kShare = 0.01, kDistance = 1, kMesh = 1e-3;
  const HockeyStick ends(kShare, {0, kDistance * kDistance, 0}, 0);
  for (const Cell& cell : EqualCells(kDistance, 4)) {
    const Pair pair = PairOfCell(kShare, kDistance, cell, kMesh, 1e-12);
    for (const int place : PointsOfPair(kMesh, 1)) {
      const double k = std::exp(kMesh * place);
      double above = 0, below = 0;
      for (const Atom& atom : pair.atoms) {
        above += std::fmax(0, atom.p - k * atom.q);
        below += std::fmax(0, atom.q - k * atom.p);
      }
      EXPECT_LE(std::fmax(above, below), ends.Up(k) * (1 + 1e-9) + 1.1e-12) << place;
    }
  }
}

TEST(FixedSizeRound, HockeySticksAreLittleAboveTheTruth) {
  // Common, first, second: of a right angle, of an acute one, and of one of which one side is along
  // the other.
  for (const RatioVariances& ratios : {RatioVariances{0, 3.4, 0.6},
                                       {0, 0.6, 3.4},
                                       {0.5, 2, 1},
                                       {0.5, 1, 2},
                                       {1, 2, 0},
                                       {0, 4, 0}}) {
    const Places at = {ratios.common + ratios.first, ratios.common + ratios.second, ratios.common};
    const HockeyStick stick(0.1, {ratios.common / 4, ratios.first / 4, ratios.second / 4}, 1e-30);
    for (const double k : kAt) {
      const double truth = Truth(0.1, 1, at, k);
      EXPECT_GE(stick.Up(k), truth - 1e-13) << k;
      if (k < 1.2) {
        EXPECT_LE(stick.Up(k), truth * 1.02) << k;
      }
    }
  }
}

TEST(FixedSizeRound, FarTailsKeepTheirDigits) {
  // One end alone: a call in closed form, whose tail is known from another one's.
  const double share = 0.3, distance = 0.5;
  const HockeyStick stick(share, {0, distance * distance, 0}, 1e-200);
  for (const double k : {3.0, 30.0, 1000.0}) {
    const double strike = (k - 1 + share) / share;
    const double own = std::log(strike) / distance - distance / 2, less = own + distance;
    const double truth =
        share * (std::erfc(own / std::sqrt(2.0)) - strike * std::erfc(less / std::sqrt(2.0))) / 2;
    EXPECT_NEAR(stick.Up(k) / truth, 1, 1e-9) << k;
  }
}

TEST(FixedSizeRound, WhatIsNotComputedIsCounted) {
  for (const RatioVariances& ratios : {RatioVariances{0.3, 0.5, 0.2}, {0.3, 0.2, 0.5}}) {
    const HockeyStick all(0.2, ratios, 1e-30), some(0.2, ratios, 3e-3);
    for (const double k : kAt) EXPECT_GE(some.Up(k), all.Up(k) * (1 - 1e-12)) << k;
  }
}

TEST(FixedSizeRound, CancelledDigitsAreCounted) {
  // A call is a difference of nearly equal tails where the deviation is small.
  const long double share = 0.3L, distance = 1e-3L;
  const HockeyStick stick(0.3, {0, 1e-6, 0}, 1e-200);
  int below = 0;
  for (double k = 1; k < 1.0005; k += 1e-6) {
    const long double strike =
        (k - 1 + static_cast<long double>(0.3)) / static_cast<long double>(0.3);
    const long double own = std::log(strike) / distance - distance / 2;
    const long double truth = share *
                              (std::erfc(own / std::sqrt(2.0L)) -
                               strike * std::erfc((own + distance) / std::sqrt(2.0L))) /
                              2;
    below += stick.Up(k) < static_cast<double>(truth * (1 - 1e-13L));
    EXPECT_LE(stick.Up(k), static_cast<double>(truth) + 1e-12) << k;
  }
  EXPECT_EQ(below, 0);
}

// ---- Rounds ----

// V of one round: that of both ends, as the mechanism's pair has it.
double OneRound(double share, double distance, double y) {
  const auto delta = [&](double k) {  // k >= 1
    const double strike = (k - 1 + share) / share;
    const double d = -std::log(strike) / distance + distance / 2;
    return share * (Phi(d) - strike * Phi(d - distance));
  };
  return y <= 1 ? y * delta(1 / y) : y - 1 + delta(y);
}

TEST(FixedSize, TwoRoundsAreTheBestOfAllPlaces) {
  const double share = 0.2, distance = 1;
  const BlockPlan plan{2, 12, 0.004, 3, 1e-14};
  const BlockProfiles profiles = *ProfilesOf({share, distance}, plan, Limits{});
  for (const double epsilon : {0.0, 0.1, 0.3, 0.8}) {
    const auto i = static_cast<size_t>(std::nearbyint(epsilon / plan.mesh));
    const double y = std::exp(-plan.mesh * static_cast<double>(i));
    double best = 0;
    for (int turn = 0; turn <= 8; ++turn) {
      // w on the circle over both records: a right angle.
      const double a = distance * std::sin(M_PI / 2 * turn / 8),
                   b = distance * std::cos(M_PI / 2 * turn / 8);
      double sum = 0;
      const double kStep = 0.05;
      for (double s = -7; s <= 9; s += kStep) {
        for (double t = -7; t <= 9; t += kStep) {
          const double p = 1 - share + share * std::exp(a * s - a * a / 2);
          const double q = 1 - share + share * std::exp(b * t - b * b / 2);
          sum += kStep * kStep / (2 * M_PI) * std::exp(-(s * s + t * t) / 2) * q *
                 OneRound(share, distance, y * p / q);
        }
      }
      best = std::fmax(best, sum);
    }
    const double delta = best / y;
    EXPECT_GE(profiles.of_rounds[i], delta * (1 - 1e-6)) << epsilon;
    EXPECT_LE(profiles.of_rounds[i], delta * 1.04) << epsilon;
    EXPECT_GT(profiles.of_one_more[i], profiles.of_rounds[i] * 1.05) << epsilon;
  }
}

// δ of an adversary who puts w at one record or the other, or at a right angle, by what was seen.
TEST(FixedSize, NoAdversaryIsAbove) {
  const double share = 0.1, distance = 1;
  constexpr int kRounds = 40, kRuns = 40000;
  const BlockPlan plan{kRounds, 8, 0.02, 6, 1e-12};
  const BlockProfiles profiles = *ProfilesOf({share, distance}, plan, Limits{});
  std::mt19937_64 random(11);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform(0, 1);
  const auto i = static_cast<size_t>(50);
  const double epsilon = plan.mesh * 50;
  double least_ratio = 1e9;
  for (const int policy : {0, 1, 2, 3, 4}) {
    double sum = 0, squares = 0;
    for (int run = 0; run < kRuns; ++run) {
      double loss = 0;  // under P
      for (int round = 0; round < kRounds; ++round) {
        const bool high = loss > epsilon;
        const double turn = policy == 0   ? 1
                            : policy == 1 ? 0
                            : policy == 2 ? (high ? 0 : 1)
                            : policy == 3 ? (high ? 1 : 0)
                                          : 0.5;
        const double a = distance * std::sin(M_PI / 2 * turn),
                     b = distance * std::cos(M_PI / 2 * turn);
        double s = normal(random);
        const double t = normal(random);
        if (uniform(random) < share) s += a;
        loss += std::log((1 - share + share * std::exp(a * s - a * a / 2)) /
                         (1 - share + share * std::exp(b * t - b * b / 2)));
      }
      const double value = loss > epsilon ? -std::expm1(epsilon - loss) : 0;
      sum += value;
      squares += value * value;
    }
    const double mean = sum / kRuns, error = std::sqrt((squares / kRuns - mean * mean) / kRuns);
    EXPECT_GE(profiles.of_rounds[i], mean - 3 * error) << policy;
    least_ratio = std::fmin(least_ratio, profiles.of_rounds[i] / mean);
  }
  // The best of them is nearly as good: the test would see a bound a tenth too low.
  EXPECT_LE(least_ratio, 1.08);
}

TEST(FixedSize, WhatIsPastTheReachOrTheTailIsStillAbove) {
  const FixedSizeRound round{0.1, 1};
  const BlockPlan far{6, 6, 0.02, 6, 1e-15};
  BlockPlan near = far, cut = far;
  near.reach = 0.6;
  cut.tail = 1e-4;
  const BlockProfiles all = *ProfilesOf(round, far, Limits{});
  const BlockProfiles short_one = *ProfilesOf(round, near, Limits{});
  const BlockProfiles cut_one = *ProfilesOf(round, cut, Limits{});
  for (size_t i = 0; i < short_one.of_rounds.size(); ++i) {
    EXPECT_GE(short_one.of_rounds[i], all.of_rounds[i] * (1 - 1e-12)) << i;
    EXPECT_GE(cut_one.of_rounds[i], all.of_rounds[i] * (1 - 1e-12)) << i;
    EXPECT_LE(short_one.of_rounds[i], all.of_rounds[i] * 2) << i;
  }
}

Composition Rounds(uint64_t sample, uint64_t population, double z, uint64_t count) {
  History history;
  history.Add("w", Mechanism{count, SampledWithoutReplacement{
                                        population, sample, {Mechanism{1, Gaussian{z}}}}});
  auto composition = Resolve(history, Adjacency::kReplaceOne);
  EXPECT_TRUE(composition.ok()) << composition.status();
  return *composition;
}

TEST(FixedSize, AnswersAreNearTheLowerEnd) {
  const struct {
    uint64_t sample, population;
    double z;
    uint64_t count;
    double truth, most;  // an uncertified recursion over both ends; what this one reaches
  } cases[] = {{10, 1000, 2, 1000, 2.132, 2.165},
               {100, 1000, 4, 100, 2.679, 2.695},
               {10, 1000, 0.7, 300, 29.8, 30.05},
               {200, 1000, 1, 20, 27.98, 28.05}};
  for (const auto& c : cases) {
    const auto answer =
        ComputeEpsilon(Rounds(c.sample, c.population, c.z, c.count), 1e-6, Options{});
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_GE(answer->value.upper(), c.truth);
    EXPECT_LE(answer->value.upper(), c.most);
    EXPECT_LT(answer->value.lower(), c.truth);
    // The question turned round.
    const auto delta = ComputeDelta(Rounds(c.sample, c.population, c.z, c.count),
                                    answer->value.upper(), Options{});
    ASSERT_TRUE(delta.ok()) << delta.status();
    EXPECT_NEAR(delta->value.upper(), 1e-6, 0.2e-6);
    EXPECT_LT(delta->value.lower(), delta->value.upper());
  }
}

TEST(FixedSize, CountsOfEveryBlockAddUp) {
  for (const uint64_t count : {4, 30, 501, 1000, 1001, 12345}) {
    auto blocks = BlocksOf({0.01, 1}, count, 1e-15, 4e8, Limits{});
    ASSERT_TRUE(blocks.ok()) << blocks.status();
    ASSERT_FALSE(blocks->empty()) << count;
    uint64_t number = 0;
    for (const Block& block : *blocks) number += block.count;
    EXPECT_EQ(blocks->size(), count % number == 0 ? 1 : 2);
  }
  // A sum of rounds is what it is, however it is cut.
  double before = 0;
  for (const uint64_t count : {499, 500, 501, 502}) {
    const auto answer = ComputeEpsilon(Rounds(10, 1000, 2, count), 1e-6, Options{});
    ASSERT_TRUE(answer.ok());
    EXPECT_GT(answer->value.upper(), before);
    before = answer->value.upper() * (1 - 0.03);
  }
}

TEST(FixedSize, NeverWorseThanRoundByRoundAndNeverInverted) {
  dpledger::testing::SampledCases sampled(2);
  const auto expect = [&sampled](const Composition& composition, double delta) {
    if (!sampled.Next()) return;
    Composition alone = composition;
    for (PairStep& step : alone.pairs) step.fixed_size.reset();
    Options options;
    options.limits.max_grid_work = 1e8;
    const auto answer = ComputeEpsilon(composition, delta, options);
    const auto by_round = ComputeEpsilon(alone, delta, options);
    ASSERT_TRUE(answer.ok()) << answer.status();
    ASSERT_TRUE(by_round.ok()) << by_round.status();
    EXPECT_LE(answer->value.upper(), by_round->value.upper() * (1 + 1e-12));
    EXPECT_LE(answer->value.lower(), answer->value.upper());
    EXPECT_GE(answer->value.upper(), by_round->value.lower());
  };
  expect(Rounds(1, 1000, 1e-3, 300), 1e-9);
  for (const double delta : {1e-300, 1e-9, 1 - 1e-9}) {
    for (const double z : {0.2, 1.0, 1e6}) expect(Rounds(1, 1000, z, 300), delta);
    expect(Rounds((uint64_t{1} << 52) - 1, uint64_t{1} << 52, 1, 100), delta);
    expect(Rounds(1, uint64_t{1} << 52, 1, uint64_t{1} << 53), delta);
    expect(Rounds(1, 3, 2, 5), delta);
  }
}

TEST(FixedSize, StopsWhenTimeIsUp) {
  Limits limits;
  limits.cancelled = [] { return true; };
  EXPECT_TRUE(absl::IsCancelled(BlocksOf({0.01, 1}, 1000, 1e-10, 1e9, limits).status()));
}

TEST(FixedSize, ComposesWithOtherSteps) {
  Composition with_other = Rounds(100, 1000, 2, 60);
  with_other.steps.push_back({1, {3, 3}, 4});
  const auto both = ComputeEpsilon(with_other, 1e-6, Options{});
  ASSERT_TRUE(both.ok()) << both.status();
  const auto alone = ComputeEpsilon(Rounds(100, 1000, 2, 60), 1e-6, Options{});
  for (PairStep& step : with_other.pairs) step.fixed_size.reset();
  const auto by_round = ComputeEpsilon(with_other, 1e-6, Options{});
  EXPECT_LT(both->value.upper(), by_round->value.upper() * 0.99);
  EXPECT_GT(both->value.upper(), both->value.lower());
  EXPECT_GT(both->value.upper(), alone->value.upper());
}

}  // namespace
}  // namespace dpledger::accountant
