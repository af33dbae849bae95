#include "accountant/pld/loss_grid.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "accountant/numeric/normal.h"
#include "accountant/numeric/rounding.h"
#include "accountant/numeric/sampled_loss.h"
#include "base/status.h"

namespace dpledger::accountant::pld {
namespace {

// φ is below the least positive double there; nothing lies beyond.
constexpr double kFarthest = 39;
// e^{loss} and e^{-loss} stay normal doubles.
constexpr double kGreatestLoss = 650;

// Gauss-Legendre on [-1, 1], five points (Abramowitz and Stegun, table 25.4).
constexpr double kNodes[5] = {-0.90617984593866399280, -0.53846931010568309104, 0,
                              0.53846931010568309104, 0.90617984593866399280};
constexpr double kWeights[5] = {0.23692688505618908751, 0.47862867049936646804,
                                0.56888888888888888889, 0.47862867049936646804,
                                0.23692688505618908751};
// A panel of width w at t has w·(|t| + 4 + μ) <= kPanel: then the five-point rule's relative error
// on φ(t), and on φ(t) times expm1 of μ(t - end), is below 1e-15 (CLAIM.md, line "quadrature").
constexpr double kPanel = 0.3;

absl::Status TooLarge(absl::string_view what) {
  return WithReason(absl::ResourceExhaustedError(what), {"QUERY_TOO_LARGE", {}});
}

}  // namespace

absl::StatusOr<LossGrid> LossGrid::Cover(double q, double mu, double h, double tail,
                                         size_t max_atoms) {
  const double reach = NormalTailInverse(tail) + 1e-6;
  LossGrid grid;
  grid.q_ = q;
  grid.mu_ = mu;
  grid.h_ = h;
  grid.base_ = 1 - q;
  grid.last_t_ = mu + reach;
  if (grid.LossAt(grid.last_t_) > kGreatestLoss || grid.last_t_ > kFarthest) {
    return TooLarge("one step's privacy loss is too large for the loss grid");
  }
  grid.origin_ = q < 1 ? std::log1p(-q) : grid.LossAt(-reach);
  grid.first_ = std::fmax(0, std::floor((grid.LossAt(-reach) - grid.origin_) / h));
  grid.edge_ = q < 1 && grid.first_ == 0;
  const double atoms = (grid.LossAt(grid.last_t_) - grid.origin_) / h - grid.first_;
  if (!(atoms < static_cast<double>(max_atoms))) {
    return TooLarge(absl::StrCat("the loss grid would need ", std::ceil(atoms),
                                 " points, more than ", max_atoms));
  }
  return grid;
}

double LossGrid::Excess(double j) const {
  return q_ < 1 ? base_ * std::expm1(offset_ + j * h_) : std::exp(Loss(j));
}

double LossGrid::T(double j) const { return std::log(Excess(j) / q_) / mu_ + mu_ / 2; }

double LossGrid::ExcessAt(double t) const { return q_ * std::exp(mu_ * t - mu_ * mu_ / 2); }

double LossGrid::LossAt(double t) const { return SampledLoss(q_, mu_ * t - mu_ * mu_ / 2); }

// A cell's mass is a sum of at most a few hundred positive panels of five terms, each of a few
// roundings, with the exponent μ(t - end) rounded to 2u of its size.
double LossGrid::MassError() const { return (600 + 4 * mu_ * kFarthest) * kUnitRoundoff; }

// A grid point is stated to 2u of its size. The t computed for it is off by the roundings of
// log(excess/q)/μ + μ/2; times the slope ℓ' <= μ these are a few u of |log(excess/q)| + μ². An
// atom's P- and Q-masses each carry MassError, and so does their ratio twice (LossError).
double LossGrid::PointError(double last_j) const {
  const double size = std::fmax(std::fabs(Loss(first_)), std::fabs(Loss(last_j)));
  return 8 * kUnitRoundoff * (1 + size + std::fabs(std::log(q_)) + mu_ * (mu_ + kFarthest));
}

namespace {

// Three points on [-1, 1]; remainder (3!)^4 w^7 f^{(6)}/(7·(6!)^3).
constexpr double kNarrowNode = 0.77459666924148337704;
constexpr double kNarrowWeights[3] = {5.0 / 9, 8.0 / 9, 5.0 / 9};
// A cell of width w at t with w·(|t| + 4 + μ) <= kNarrow needs one panel of three points, and
// arguments of its exponentials are so small that six terms of the series give all digits: 4 to 5
// times faster, and most cells are narrow.
constexpr double kNarrow = 0.01;

// e^x - 1 for |x| <= 0.02, relative error below 2u + 0.02^6/5040.
double SmallExpM1(double x) {
  return x * (1 + x / 2 * (1 + x / 3 * (1 + x / 4 * (1 + x / 5 * (1 + x / 6)))));
}

CellIntegrals IntegrateNarrow(double mu, double from, double to) {
  const double half = (to - from) / 2, middle = from + half;
  const double at_middle = half * NormalDensity(middle);
  CellIntegrals sum;
  for (int k = -1; k <= 1; ++k) {
    const double off = kNarrowNode * half * k;
    // φ(middle + off) = φ(middle) e^{-off (middle + off/2)}
    const double weight =
        kNarrowWeights[k + 1] * at_middle * (1 + SmallExpM1(-off * (middle + off / 2)));
    sum.q_mass += weight;
    sum.from_left += weight * SmallExpM1(mu * (half + off));
    sum.from_right -= weight * SmallExpM1(mu * (off - half));
  }
  return sum;
}

}  // namespace

CellIntegrals Integrate(double mu, double from, double to) {
  if ((to - from) * (std::fmax(std::fabs(from), std::fabs(to)) + 4 + mu) <= kNarrow)
    return IntegrateNarrow(mu, from, to);
  CellIntegrals sum;
  const bool has_left = std::isfinite(from);
  double t = std::fmax(from, -kFarthest);
  const double last = std::fmin(to, kFarthest);
  while (t < last) {
    const double width = kPanel / (std::fmax(std::fabs(t), std::fabs(t + kPanel)) + 4 + mu);
    const double end = t + width >= last ? last : t + width;
    const double half = (end - t) / 2, middle = t + half;
    for (int k = 0; k < 5; ++k) {
      const double at = middle + half * kNodes[k];
      const double weight = half * kWeights[k] * NormalDensity(at);
      sum.q_mass += weight;
      if (has_left) sum.from_left += weight * std::expm1(mu * (at - from));
      sum.from_right -= weight * std::expm1(mu * (at - to));
    }
    t = end;
  }
  return sum;
}

}  // namespace dpledger::accountant::pld
