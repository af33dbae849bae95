// Matrix mechanisms with balls in bins: the overlaps against columns written out, the bounds
// against quadrature, simulation and figures of another implementation.
#include "accountant/mechanism/bin_overlaps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "accountant/accountant.h"
#include "accountant/filter/filter.h"
#include "accountant/mechanism/matrix_sensitivity.h"

namespace dpledger::accountant {
namespace {

using Rows = std::vector<std::vector<double>>;

Rows RowsOf(const ToeplitzEncoder& toeplitz) {
  Rows rows(toeplitz.steps, std::vector<double>(toeplitz.steps, 0));
  for (size_t row = 0; row < rows.size(); ++row) {
    for (size_t j = 0; j <= row && j < toeplitz.coefficients.size(); ++j)
      rows[row][row - j] = toeplitz.coefficients[j] / toeplitz.coefficients[0];
  }
  return rows;
}

Rows RowsOf(const TreeEncoder& tree) {
  Rows rows;
  for (uint64_t size = 1; size <= tree.steps; size *= 2) {
    for (uint64_t begin = 0; begin + size <= tree.steps; begin += size) {
      rows.emplace_back(tree.steps, 0);
      std::fill_n(rows.back().begin() + static_cast<std::ptrdiff_t>(begin), size, 1);
    }
  }
  return rows;
}

// By bin, what its record adds to each row.
Rows ColumnsOf(const Rows& rows, uint64_t bins) {
  Rows columns(bins, std::vector<double>(rows.size(), 0));
  for (size_t row = 0; row < rows.size(); ++row) {
    for (size_t step = 0; step < rows[row].size(); ++step)
      columns[step % bins][row] += rows[row][step];
  }
  return columns;
}

double Product(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

template <typename Encoder>
void ExpectOverlaps(const Encoder& encoder, uint64_t bins) {
  const BinOverlaps found = OverlapsOf(encoder, BallsInBins{bins});
  const Rows columns = ColumnsOf(RowsOf(encoder), bins);
  ASSERT_EQ(found.bins(), bins);
  double least_own = INFINITY, most_own = 0, least = INFINITY;
  for (uint64_t i = 0; i < bins; ++i) {
    least_own = std::fmin(least_own, Product(columns[i], columns[i]));
    most_own = std::fmax(most_own, Product(columns[i], columns[i]));
  }
  EXPECT_NEAR(found.own.lower(), least_own, 1e-12 * least_own);
  EXPECT_LE(found.own.lower(), least_own);
  EXPECT_NEAR(found.own.upper(), most_own, 1e-12 * most_own);
  EXPECT_GE(found.own.upper(), most_own);
  for (uint64_t d = 1; d < bins; ++d) {
    double most = 0;
    for (uint64_t i = 0; i + d < bins; ++i) {
      const double both = Product(columns[i], columns[i + d]);
      most = std::fmax(most, both);
      least = std::fmin(least, both);
    }
    EXPECT_GE(found.apart[d], most) << d;
    EXPECT_NEAR(found.apart[d], most, 1e-12 * (1 + most)) << d;
  }
  if (bins == 1) least = 0;
  EXPECT_LE(found.least_apart, least);
  EXPECT_NEAR(found.least_apart, least, 1e-12 * (1 + least));
}

TEST(BinOverlaps, AreThoseOfTheColumns) {
  for (const uint64_t steps : {1, 2, 7, 12, 33}) {
    for (const uint64_t bins : {1, 2, 3, 5, 12, 32}) {
      if (bins > steps) continue;
      SCOPED_TRACE(::testing::Message() << steps << " steps, " << bins << " bins");
      for (std::vector<double> coefficients :
           std::vector<std::vector<double>>{{3}, {2, 1, .5}, {1, 1, .7, .7, .6, .1, .1}}) {
        coefficients.resize(std::min<size_t>(coefficients.size(), steps));
        ExpectOverlaps(ToeplitzEncoder{steps, coefficients, {}}, bins);
      }
      ExpectOverlaps(TreeEncoder{steps, {}}, bins);
    }
  }
}

absl::StatusOr<Composition> Resolved(MatrixMechanism mechanism, uint64_t count = 1) {
  History history;
  history.Add("w", Mechanism{count, std::move(mechanism)});
  return Resolve(history, Adjacency::kAddOrRemoveOne);
}

// 1, 1/2, 3/8, 5/16, ...: `band` of them.
std::vector<double> SquareRoot(size_t band) {
  std::vector<double> c = {1};
  for (size_t j = 1; j < band; ++j) c.push_back(c.back() * (1 - 0.5 / static_cast<double>(j)));
  return c;
}

// Quadrature of the mechanism itself (tests/oracle/balls_in_bins.py).
TEST(BallsInBins, BracketsTheTruthOfTwoAndThreeBins) {
  struct Case {
    MatrixMechanism mechanism;
    double epsilon, remove, add;
  };
  const auto toeplitz = [](uint64_t steps, std::vector<double> c, uint64_t bins, double sigma) {
    return MatrixMechanism{ToeplitzEncoder{steps, std::move(c), BallsInBins{bins}}, sigma};
  };
  const auto four = toeplitz(4, {1, .5, .25}, 2, 2), three = toeplitz(3, {1}, 2, 1),
             seven = toeplitz(7, {1, .5, .25}, 3, 2);
  const MatrixMechanism tree{TreeEncoder{6, BallsInBins{3}}, 3};
  for (const Case& c : std::vector<Case>{
           {four, 0.2, 0.233547055649, 0.233385730359},
           {four, 1, 0.0558058779027, 0.0552583671533},
           {four, 2, 0.00305885588777, 0.00290399458972},
           {three, 0.2, 0.302060265739, 0.295823458777},
           {three, 1, 0.123344732743, 0.0953821476465},
           {three, 2, 0.0295915519129, 0.00929601511882},
           {seven, 0.2, 0.215173506161, 0.214587184583},
           {seven, 1, 0.0448199083707, 0.0430004063452},
           {seven, 2, 0.00190436079672, 0.00150636632627},
           {tree, 0.2, 0.188187537487, 0.186767101218},
           {tree, 1, 0.0310893335503, 0.0274227281669},
           {tree, 2, 0.000919427225646, 0.000437441360341},
       }) {
    const auto composition = Resolved(c.mechanism);
    ASSERT_TRUE(composition.ok()) << composition.status();
    for (const Direction direction : {Direction::kRemove, Direction::kAdd}) {
      const double truth = direction == Direction::kRemove ? c.remove : c.add;
      const auto delta = ComputeDelta(*composition, c.epsilon, {}, direction);
      ASSERT_TRUE(delta.ok()) << delta.status();
      EXPECT_LE(delta->value.lower(), truth * (1 + 1e-9)) << c.epsilon;
      EXPECT_GE(delta->value.upper(), truth * (1 - 1e-9)) << c.epsilon;
      // Nor is it far away, though these bins are few and unequal.
      EXPECT_GE(delta->value.lower(), truth * .1) << c.epsilon;
      EXPECT_LE(delta->value.upper(), truth * 5) << c.epsilon;
    }
  }
}

// Bins without overlap whose records add alike are random allocation itself.
TEST(BallsInBins, OfIndependentNoiseIsRandomAllocation) {
  const auto bins = Resolved({ToeplitzEncoder{12, {1}, BallsInBins{4}}, 2});
  History history;
  history.Add("w", RoundsEvent{{{0, RandomAllocation{4, 0}}, {{"", std::sqrt(3), 2}}}, 4});
  const auto allocation = Resolve(history, Adjacency::kAddOrRemoveOne);
  const auto found = ComputeEpsilon(*bins, 1e-5, {}), known = ComputeEpsilon(*allocation, 1e-5, {});
  ASSERT_TRUE(found.ok() && known.ok()) << found.status() << known.status();
  EXPECT_NEAR(found->value.upper(), known->value.upper(), 1e-3 * known->value.upper());
  EXPECT_NEAR(found->value.lower(), known->value.lower(), 1e-3 * known->value.lower());
}

// Another implementation of these bounds, and its simulations (two standard errors: .02 to .05);
// 1000 steps, 100 bins, δ 1e-6. Without the overlap the middle one would be .484.
TEST(BallsInBins, HasTheFiguresOfAnotherImplementation) {
  struct Case {
    std::vector<double> coefficients;
    double sigma, bound, estimate;
  };
  std::vector<double> buffers = {1};
  for (int j = 1; j < 1000; ++j)
    buffers.push_back(.257 * std::pow(.5791, j - 1) + .25 * std::pow(.9816, j - 1));
  for (const Case& c : std::vector<Case>{{{1}, .646, 29.95, 29.97},
                                         {SquareRoot(16), 2.822, 5.44, 4.07},
                                         {SquareRoot(64), 5.149, 3.13, 2.51},
                                         {SquareRoot(100), 21.255, .745, .67},
                                         {SquareRoot(100), 6.005, 2.97, 2.64},
                                         {SquareRoot(100), 3.285, 6.11, 5.29},
                                         {buffers, 7.299, 3.24, 2.93}}) {
    const auto composition =
        Resolved({ToeplitzEncoder{1000, c.coefficients, BallsInBins{100}}, c.sigma});
    const auto epsilon = ComputeEpsilon(*composition, 1e-6, {});
    ASSERT_TRUE(epsilon.ok()) << epsilon.status();
    EXPECT_NEAR(epsilon->value.upper(), c.bound, .009) << c.sigma;
    EXPECT_LE(epsilon->value.lower(), c.estimate + .05) << c.sigma;
    EXPECT_GE(epsilon->value.upper(), c.estimate - .05) << c.sigma;
  }
}

// δ of ten bins by simulation of the mechanism, with all means in place.
TEST(BallsInBins, BracketsASimulation) {
  constexpr uint64_t kBins = 10;
  constexpr double kSigma = 3, kEpsilon = 0.5;
  const ToeplitzEncoder encoder{30, SquareRoot(8), BallsInBins{kBins}};
  const Rows columns = ColumnsOf(RowsOf(encoder), kBins);
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  constexpr int kRuns = 200000;
  double sum = 0, squares = 0;
  std::vector<double> noise(30);
  for (int run = 0; run < kRuns; ++run) {
    for (double& x : noise) x = normal(random);
    double ratio = 0;
    for (const auto& column : columns) {
      ratio += std::exp(Product(column, noise) / kSigma -
                        Product(column, column) / (2 * kSigma * kSigma)) /
               kBins;
    }
    const double value = std::fmax(0, ratio - std::exp(kEpsilon));
    sum += value;
    squares += value * value;
  }
  const double mean = sum / kRuns, error = std::sqrt((squares / kRuns - mean * mean) / kRuns);
  const auto delta = ComputeDelta(*Resolved({encoder, kSigma}), kEpsilon, {}, Direction::kRemove);
  ASSERT_TRUE(delta.ok()) << delta.status();
  EXPECT_LT(error, .03 * mean);
  EXPECT_LE(delta->value.lower(), mean + 4 * error);
  EXPECT_GE(delta->value.upper(), mean - 4 * error);
  EXPECT_LE(delta->value.upper(), 1.5 * mean);
}

TEST(BallsInBins, OneBinIsTheRunWithoutSampling) {
  const auto composition = Resolved({ToeplitzEncoder{8, {1, .5}, BallsInBins{1}}, 2});
  ASSERT_TRUE(composition.ok());
  const Interval squared = SquaredSensitivity(ToeplitzEncoder{8, {1, .5}, {}}, {8, 1});
  ASSERT_EQ(composition->steps.size(), 1u);
  EXPECT_TRUE(composition->steps[0].noise_multiplier.Contains(2 / std::sqrt(squared.upper())));
}

// Never above the run without sampling, by any method; two runs cost less than twice one.
TEST(BallsInBins, ComposesAndIsNoMoreThanUnsampled) {
  const MatrixMechanism mechanism{ToeplitzEncoder{40, SquareRoot(10), BallsInBins{10}}, 4};
  const auto unsampled = [] {
    History history;
    history.Add(
        "w", Mechanism{
                 1, MatrixMechanism{ToeplitzEncoder{40, SquareRoot(10), Participation{4, 10}}, 4}});
    return Resolve(history, Adjacency::kZeroOut);
  }();
  const double alone = ComputeEpsilon(*unsampled, 1e-6, {})->value.upper();
  const double once = ComputeEpsilon(*Resolved(mechanism), 1e-6, {})->value.upper();
  for (const Method method : {Method::kBest, Method::kPld, Method::kRdp, Method::kContour}) {
    const auto epsilon = ComputeEpsilon(*Resolved(mechanism), 1e-6, {.method = method});
    ASSERT_TRUE(epsilon.ok()) << epsilon.status();
    EXPECT_LT(epsilon->value.upper(), alone * 1.05) << MethodName(method);
    EXPECT_GE(epsilon->value.upper(), once * (1 - 1e-9)) << MethodName(method);
  }
  const auto twice = ComputeEpsilon(*Resolved(mechanism, 2), 1e-6, {});
  ASSERT_TRUE(twice.ok()) << twice.status();
  EXPECT_GT(twice->value.upper(), 1.2 * once);
  EXPECT_LT(twice->value.upper(), 2 * once);
  EXPECT_GT(twice->value.lower(),
            1.1 * ComputeEpsilon(*Resolved(mechanism), 1e-6, {})->value.lower());
}

// Filters count the best of the bounds of each order, and what sums up as an unsampled Gaussian.
TEST(BallsInBins, SpendsOfEveryFilter) {
  const ToeplitzEncoder encoder{40, SquareRoot(10), BallsInBins{10}};
  const auto composition = Resolved({encoder, 4});
  const double squared = OverlapsOf(encoder, BallsInBins{10}).own.upper() / 16;
  const auto zcdp = filter::Spent(filter::ZcdpFilter{1}, *composition, {}),
             gdp = filter::Spent(filter::GdpFilter{1}, *composition, {});
  ASSERT_TRUE(zcdp.ok() && gdp.ok()) << zcdp.status() << gdp.status();
  EXPECT_NEAR(*zcdp, squared / 2, 1e-12 * squared);
  EXPECT_NEAR(*gdp, std::sqrt(squared), 1e-12);
  for (const double order : {2.0, 8.0}) {
    const auto rdp = filter::Spent(filter::RdpFilter{order, 1}, *composition, {});
    ASSERT_TRUE(rdp.ok()) << rdp.status();
    EXPECT_LT(*rdp, order * squared / 2);
    EXPECT_GT(*rdp, 0.02 * order * squared / 2);
  }
}

}  // namespace
}  // namespace dpledger::accountant
