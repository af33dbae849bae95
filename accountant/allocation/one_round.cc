#include "accountant/allocation/one_round.h"

#include <cmath>
#include <limits>

#include "accountant/numeric/normal.h"
#include "accountant/numeric/rounding.h"

namespace dpledger::accountant::allocation {
namespace {

// Of the distance of one round.
constexpr double kLittleNoise = 1.5;
constexpr double kRarely = 1e-6;
// The chance that no round comes near the scale by which a sum's grid is laid, and that one goes
// beyond what the rest makes up for. (Tried at 17 noises from .11 to 2 and 2 to 10^6 rounds: with
// 1e-6 the bounds of few rounds are wide apart; 1e-1 costs digits where δ is near 1.)
constexpr double kNever = 1e-12, kSeldom = 1e-3;
// The former where tails far below are asked for.
constexpr double kNeverAtAll = 1e-40;
// Spreads within which the rest of a sum lies.
constexpr double kRest = 4;

// The outcome that at least one of `rounds` passes, but for so small a chance.
double PassedBut(double chance, double rounds) {
  return NormalTailInverse(std::fmin(-std::expm1(std::log(chance) / rounds), 1 - 1e-12));
}

// E[r²] of one round's ratio, without the outcomes that none of `rounds` may pass.
double SquareWithout(double mu, double chance, double rounds) {
  return std::exp(mu * mu) * NormalTail(2 * mu - PassedBut(chance, rounds));
}

}  // namespace

double Ratio::Spread(double size) const {
  return std::fmin(std::sqrt(size * std::expm1(mu * mu)), 3 * size);
}
double Ratio::Part(double size) const {
  return std::sqrt(size / rounds) *
         std::fmin(Spread(rounds), std::sqrt(rounds * SquareWithout(mu, kNeverAtAll, rounds)));
}
double Ratio::At(double x) const { return std::exp(mu * (x - mu / 2)); }
double Ratio::Slope(double x) const { return mu * At(x); }
Ratio::Cell::Cell(const Ratio& round, double, double cell_width)
    : mu(round.mu), width(cell_width), whole(std::expm1(mu * width)) {}
Shares Ratio::Cell::At(double s) const {
  const double rise = std::expm1(mu * s);
  return {(1 + rise) * std::expm1(mu * (width - s)), rise, 0};
}
double Ratio::ShareError(double, double width) const { return 8 * mu * width * kUnitRoundoff; }

double Opposed::Scale() const { return 2 * std::exp((epsilon - mu * mu) / 2); }
double Opposed::Mean() const { return -std::sinh(epsilon / 2) * std::exp(mu * mu / 2); }

// E[r r'] = e^{-μ²} of one round's two ratios, and E[r²] = E[r'²] = e^{μ²}.
SignedScale Opposed::Scales(double size) const {
  const double square = mu * mu;
  const double variance =
      std::exp(square) / 2 * (std::cosh(epsilon) * std::expm1(square) - std::expm1(-square));
  const double typical = std::cosh(epsilon / 2) * std::exp(square / 2);
  const auto spread_of = [&](double n) {
    return std::fmin(std::sqrt(n * variance), 3 * n * typical);
  };
  // Of little noise most sums lie far within their spread. Rarely are all outcomes above `least`.
  const double least = NormalTailInverse(std::fmin(std::pow(kRarely, 1 / size), 1 - 1e-12));
  // Of the whole sum: the root of its variance without outcomes that it may not have.
  const double width = std::fmin(spread_of(rounds), std::sqrt(rounds * std::cosh(epsilon) / 2 *
                                                              SquareWithout(mu, kNever, rounds)));
  const double finest = mu > kLittleNoise ? std::cosh(std::fmax(0, epsilon / 2 - mu * least)) / 4
                                          : std::numeric_limits<double>::infinity();
  // The rest of the sum: its mean without seldom outcomes, the greatest of the others, and spreads.
  const double seldom = NormalTailInverse(kSeldom / rounds);
  const double mean =
      rounds * std::sinh(epsilon / 2) * std::exp(square / 2) * NormalTail(mu - seldom);
  const double greatest = std::exp(mu * seldom + epsilon / 2) / 2;
  const double decided =
      mean - missing * Mean() + std::fmin(kRest * spread_of(rounds), greatest + kRest * width);
  // The position errors of the parts add up over the parts, and count against the width.
  return {size * Mean(), spread_of(size), finest, width * std::sqrt(size / rounds), decided};
}

double Opposed::Plus(double place) const { return Scale() * std::fmax(0, place); }
double Opposed::Exponent(double low, double high) const {
  return mu * (high - low) + mu * mu / 2 + epsilon;
}

double Opposed::At(double x) const { return std::sinh(std::fma(mu, x, -epsilon / 2)); }
double Opposed::AtError(double x) const {
  const double at = std::fma(mu, x, -epsilon / 2);
  return 4 * kUnitRoundoff * (std::fabs(std::sinh(at)) + std::fabs(at) * std::cosh(at));
}
double Opposed::Slope(double x) const { return mu * std::cosh(std::fma(mu, x, -epsilon / 2)); }
// sinh(a + b) - sinh(a) = (e^a (e^b - 1) + e^{-a} (1 - e^{-b}))/2; the half is left out everywhere.
Opposed::Cell::Cell(const Opposed& round, double x, double cell_width)
    : mu(round.mu),
      width(cell_width),
      up(std::exp(std::fma(mu, x, -round.epsilon / 2))),
      down(1 / up),
      other(std::exp(-mu * (x + mu / 2))) {
  const double rise = std::expm1(mu * width);
  end = down / (1 + rise);
  whole = (up + end) * rise;
}
Shares Opposed::Cell::At(double s) const {
  const double rise = std::expm1(mu * s), rest = std::expm1(mu * (width - s));
  const double grown = 1 + rise, shrunk = 1 / grown;
  return {(up * grown + end) * rest, (up + down * shrunk) * rise, other * shrunk};
}
double Opposed::ShareError(double farthest, double width) const {
  return 8 * (mu * (farthest + width) + epsilon) * kUnitRoundoff;
}

}  // namespace dpledger::accountant::allocation
