// One piece with many terms: losses and the integrals of cells against sums in long double, of
// which nothing is left out.
#include <gtest/gtest.h>

#include <boost/math/quadrature/gauss.hpp>
#include <cmath>
#include <vector>

#include "accountant/pld/piece.h"

namespace dpledger::accountant::pld {
namespace {

// Mixtures of Gaussians at multiples of 1.5, with weights that fall by e^-7 from each to the next:
// at most places most terms are faint, and which are differs.
constexpr int kTerms = 9;
constexpr double kApart = 1.5, kFall = 7;

DensityPiece Mixture() {
  DensityPiece piece{-INFINITY, INFINITY, 0, 0, -0.5, {}, {}};
  for (int k = 0; k < kTerms; ++k) {
    const double mean = kApart * k, weight = -kFall * k - mean * mean / 2;
    piece.p.push_back({weight, mean});
    piece.q.push_back({weight, -mean});
  }
  return piece;
}

long double Sum(const std::vector<ExponentialTerm>& terms, long double t) {
  long double sum = 0;
  for (const ExponentialTerm& term : terms)
    sum += std::exp(static_cast<long double>(term.log_coefficient) + term.rate * t);
  return sum;
}
long double Loss(const DensityPiece& piece, long double t) {
  return std::log(Sum(piece.p, t)) - std::log(Sum(piece.q, t));
}

TEST(Piece, LossesAreThoseOfTheSums) {
  const DensityPiece stated = Mixture();
  const Piece piece(stated);
  for (double t = -14; t < 14; t += 0.17) {
    const double truth = static_cast<double>(Loss(stated, t));
    EXPECT_NEAR(piece.Above(t) + piece.origin(), truth, 2e-14 * (1 + std::fabs(truth))) << t;
  }
}

TEST(Piece, PointsOfAGridHaveTheirLosses) {
  const DensityPiece stated = Mixture();
  const Piece piece(stated);
  constexpr double kStep = 0.13;
  const Piece::Points points = piece.AtPoints(-20, kStep, 300, -20, 20);
  for (size_t i = 0; i < points.t.size(); ++i) {
    const double wanted = -20 + kStep * static_cast<double>(i);
    const auto off = std::fabs(static_cast<double>(
        Loss(stated, points.t[i]) - (piece.origin() + static_cast<long double>(wanted))));
    EXPECT_LE(off, points.error[i]) << wanted;
    EXPECT_LE(points.error[i], 1e-11);
  }
}

TEST(Piece, IntegralsOfCellsAreThoseOfTheSums) {
  const DensityPiece stated = Mixture();
  const Piece piece(stated);
  constexpr double kStep = 0.4;
  std::vector<Cell> cells;
  for (int i = -40; i < 40; ++i) {
    const double lower = kStep * i, upper = kStep * (i + 1);
    cells.push_back(
        {piece.At(lower, -20, 20), piece.At(upper, -20, 20), lower, upper, false, false});
  }
  for (const Cell& cell : cells) {
    // By itself, so that what is faint in it is not in another cell of the same block.
    const CellIntegrals found = piece.Integrate({cell}).front();
    // N - y0 D and y1 D - N by differences from the cell's ends, as losses there are y0 and y1 to a
    // rounding only.
    const auto base = [](long double t) { return std::exp(-t * t / 2); };
    const long double from = cell.from, to = cell.to;
    const long double y0 = std::exp(Loss(stated, from)), y1 = std::exp(Loss(stated, to));
    const auto over = [&](long double t) {
      return base(t) * (Sum(stated.p, t) - y0 * Sum(stated.q, t));
    };
    const auto under = [&](long double t) {
      return base(t) * (y1 * Sum(stated.q, t) - Sum(stated.p, t));
    };
    using Rule = boost::math::quadrature::gauss<long double, 30>;
    const auto over_lower = static_cast<double>(Rule::integrate(over, from, to)),
               under_upper = static_cast<double>(Rule::integrate(under, from, to));
    EXPECT_NEAR(found.over_lower, over_lower, 1e-11 * over_lower) << cell.lower;
    EXPECT_NEAR(found.under_upper, under_upper, 1e-11 * under_upper) << cell.lower;
  }
}

}  // namespace
}  // namespace dpledger::accountant::pld
