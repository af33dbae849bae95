// Sums of exponentials have zeros beside the real line, where their terms are alike, and powers of
// them have branches there: panels must be narrow near these, and may be wide elsewhere.
#include "accountant/rdp/piece_integral.h"

#include <gtest/gtest.h>

#include <boost/math/quadrature/gauss.hpp>
#include <cmath>
#include <functional>
#include <numbers>

namespace dpledger::accountant::rdp {
namespace {

// On cells that are narrow beside the distance to the zeros.
long double Integral(long double from, long double to,
                     const std::function<long double(long double)>& f) {
  constexpr int kCells = 1000;
  const long double cell = (to - from) / kCells;
  long double sum = 0;
  for (int i = 0; i < kCells; ++i) {
    sum += boost::math::quadrature::gauss<long double, 15>::integrate(f, from + i * cell,
                                                                      from + (i + 1) * cell);
  }
  return sum;
}

// The terms are alike at 0 or near it, and zeros lie at ±iπ/r beside that.
TEST(PieceIntegral, IsAboveWhereTermsAreAlikeAndNear) {
  for (const double rate : {2.0, 15.0, 100.0}) {
    for (const double order : {1.5, 2.0, 8.5, 60.0}) {
      for (const double log_coefficient : {0.0, -3.0}) {
        const std::vector<ExponentialTerm> rising = {{0, 0}, {log_coefficient, rate}},
                                           falling = {{0, 0}, {log_coefficient, -rate}};
        const DensityPiece up{-1, 1, 0, 0, 0, rising, {{0, 0}}};
        const DensityPiece down{-1, 1, 0, 0, 0, {{0, 0}}, falling};
        // Divided by the greatest value, to stay within range.
        const long double scale = order * std::log1p(std::exp(log_coefficient + rate));
        const auto power = [&](double exponent, double sign) {
          return [=](long double t) {
            return std::exp(exponent * std::log1p(std::exp(log_coefficient + sign * rate * t)) -
                            (exponent > 0 ? scale : 0));
          };
        };
        const long double upwards = Integral(-1, 1, power(order, 1)),
                          downwards = Integral(-1, 1, power(1 - order, -1));
        for (const auto& [found, truth] :
             {std::pair(LogPieceMomentUp(up, Direction::kRemove, order) - scale, upwards),
              std::pair(static_cast<long double>(LogPieceMomentUp(down, Direction::kRemove, order)),
                        downwards)}) {
          EXPECT_GE(found, std::log(truth) - 1e-17L) << rate << " " << order;
          EXPECT_LE(found, std::log(truth) + 1e-10L) << rate << " " << order;
        }
      }
    }
  }
}

// Far apart: what the shorter bound is for. One piece of the pair of a Gaussian with replacement.
TEST(PieceIntegral, OfAMixtureFarApartIsTheSumOfItsParts) {
  const double mu = 40, share = 1e-3, half_log_two_pi = std::log(2 * std::numbers::pi) / 2;
  const DensityPiece piece{
      -INFINITY, INFINITY, -half_log_two_pi,
      0,         -0.5,     {{std::log1p(-share), 0}, {std::log(share) - mu * mu / 2, mu}},
      {{0, 0}}};
  // E[(1 - q + q e^{μt - μ²/2})²] = 1 + q² (e^{μ²} - 1), of which nothing but the last is seen.
  EXPECT_NEAR(LogPieceMomentUp(piece, Direction::kRemove, 2), 2 * std::log(share) + mu * mu, 1e-9);
  EXPECT_GE(LogPieceMomentUp(piece, Direction::kRemove, 2), 2 * std::log(share) + mu * mu);
}

}  // namespace
}  // namespace dpledger::accountant::rdp
