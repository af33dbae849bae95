#include "accountant/contour/pair_loss.h"

#include <algorithm>
#include <cmath>
#include <complex>

#include "accountant/numeric/constants.h"
#include "accountant/numeric/rounding.h"
#include "accountant/numeric/vector_math.h"

namespace dpledger::accountant::contour {
namespace {

constexpr double kGreatestTurn = 1e6;  // radians for which SinCos is exact
// Below, sinh(x)/x is summed as a series: its terms from x^12 on are below 1e-16.
constexpr double kSmall = 0.3;

using Complex = std::complex<double>;

// sinh(x)/x for |x| <= kSmall.
template <typename Number>
Number SmallSinhc(Number x) {
  const Number y = x * x;
  return 1.0 + y / 6.0 * (1.0 + y / 20.0 * (1.0 + y / 42.0 * (1.0 + y / 72.0 * (1.0 + y / 110.0))));
}

// log(sinh(x)/x), within 4u of its size and 4u.
double LogSinhc(double x) {
  x = std::fabs(x);
  if (x <= kSmall) return std::log(SmallSinhc(x));
  return x + std::log(-std::expm1(-2 * x) / (2 * x));
}

// The logarithmic derivatives of sinh(x)/x.
double Langevin(double x) {
  return std::fabs(x) <= kSmall ? x / 3 * (1 - x * x / 15) : 1 / std::tanh(x) - 1 / x;
}
double LangevinSlope(double x) {
  if (std::fabs(x) <= kSmall) return (1 - x * x / 5) / 3;
  const double s = std::sinh(std::fmin(300, std::fabs(x)));
  return 1 / (x * x) - 1 / (s * s);
}

// sinhc(x + iy)/sinhc(x), within u(40 + 20(|x| + |y|)) (CLAIM.md, "Other pairs").
Complex TurnedSinhc(double x, double y) {
  const Complex z(x, y);
  if (std::abs(z) <= kSmall) return SmallSinhc(z) / SmallSinhc(x);
  const double g = std::fabs(x) <= 1e-8 ? 1 : x / std::tanh(x);
  return Complex(x * std::cos(y), g * std::sin(y)) / z;
}

}  // namespace

std::shared_ptr<const PairLoss> PairLoss::Of(const Pair& pair, bool add) {
  auto result = std::make_shared<PairLoss>();
  result->relative_error_ = pair.relative_error;
  for (const Atom& atom : pair.atoms) {
    const double own = add ? atom.q : atom.p, other = add ? atom.p : atom.q;
    if (own == 0) continue;
    if (other == 0) {
      result->infinite_ = AddUp(result->infinite_, own);
      continue;
    }
    const double log_own = std::log(own), log_other = std::log(other);
    result->loss_.push_back(log_own - log_other);
    result->log_mass_.push_back(log_own);
    result->loss_error_.push_back(4 * kUnitRoundoff *
                                  (1 + std::fabs(log_own) + std::fabs(log_other)));
  }
  for (const DensityPiece& piece : pair.pieces) {
    const bool linear = piece.quadratic == 0 && piece.p.size() == 1 && piece.q.size() == 1;
    if (!linear || !(std::fabs(piece.from) < kInfinity && std::fabs(piece.to) < kInfinity))
      return nullptr;
    if (!(piece.from < piece.to)) continue;
    const ExponentialTerm& own = add ? piece.q[0] : piece.p[0];
    const ExponentialTerm& other = add ? piece.p[0] : piece.q[0];
    const double half = (piece.to - piece.from) / 2, middle = piece.from + half;
    Slope slope;
    slope.half = half;
    slope.rate = piece.linear + own.rate;
    slope.rise = own.rate - other.rate;
    slope.log_density = piece.constant + own.log_coefficient + slope.rate * middle;
    slope.loss = own.log_coefficient - other.log_coefficient + slope.rise * middle;
    const double farthest = std::fabs(middle) + half;
    slope.loss_error =
        8 * kUnitRoundoff *
        (1 + std::fabs(own.log_coefficient) + std::fabs(other.log_coefficient) +
         std::fabs(piece.constant) +
         (std::fabs(own.rate) + std::fabs(other.rate) + std::fabs(piece.linear)) * farthest);
    result->slopes_.push_back(slope);
  }
  return result->size() > 0 ? result : nullptr;
}

PairLoss::Shares PairLoss::At(double c) const {
  const size_t atoms = loss_.size();
  Shares shares;
  std::vector<double> exponent(size());
  shares.error.resize(size());
  for (size_t i = 0; i < atoms; ++i) {
    exponent[i] = log_mass_[i] + c * loss_[i];
    // The mass and the loss are functions of the two logarithms.
    shares.error[i] = (1 + c) * (loss_error_[i] + 2 * relative_error_) +
                      8 * kUnitRoundoff * (1 + c * std::fabs(loss_[i]));
  }
  for (size_t i = 0; i < slopes_.size(); ++i) {
    const Slope& slope = slopes_[i];
    const double x = (slope.rate + c * slope.rise) * slope.half, sinhc = LogSinhc(x);
    exponent[atoms + i] = slope.log_density + c * slope.loss + std::log(2 * slope.half) + sinhc;
    shares.error[atoms + i] =
        (1 + c) * (slope.loss_error + 2 * relative_error_) +
        8 * kUnitRoundoff *
            (4 + c * std::fabs(slope.loss) + std::fabs(exponent[atoms + i]) + 2 * std::fabs(x) +
             (std::fabs(slope.rate) + c * std::fabs(slope.rise)) * slope.half);
  }
  const double greatest = *std::max_element(exponent.begin(), exponent.end());
  double sum = 0;
  shares.weight.resize(size());
  for (size_t i = 0; i < size(); ++i) sum += shares.weight[i] = std::exp(exponent[i] - greatest);
  for (size_t i = 0; i < size(); ++i) {
    shares.weight[i] /= sum;
    // Of the exponent's distance from the greatest.
    shares.error[i] += 4 * kUnitRoundoff * (2 + std::fabs(exponent[i]) + std::fabs(greatest));
  }
  shares.log_mgf = greatest + std::log(sum);
  return shares;
}

Tilt PairLoss::TiltAt(double c) const {
  const Shares shares = At(c);
  const size_t atoms = loss_.size();
  Tilt tilt;
  double square = 0, spread = 0;
  for (size_t i = 0; i < size(); ++i) {
    const double weight = shares.weight[i];
    double mean = i < atoms ? loss_[i] : slopes_[i - atoms].loss;
    if (i >= atoms) {
      const Slope& slope = slopes_[i - atoms];
      const double x = (slope.rate + c * slope.rise) * slope.half;
      const double reach = slope.rise * slope.half;
      mean += reach * Langevin(x);
      spread += weight * reach * reach * LangevinSlope(x);
    }
    tilt.mean += weight * mean;
    square += weight * mean * mean;
    tilt.error += weight * shares.error[i];
  }
  tilt.variance = std::fmax(0, square - tilt.mean * tilt.mean) + spread;
  tilt.log_mgf = shares.log_mgf;
  // Sums of positive terms.
  tilt.error = 1.1 * (tilt.error + kUnitRoundoff * (static_cast<double>(size()) + 8)) +
               4 * kUnitRoundoff * std::fabs(tilt.log_mgf);
  return tilt;
}

bool PairLoss::PutOnLine(double c, double spacing, size_t nodes, double& work,
                         StepOnLine& result) const {
  work -= 4 * static_cast<double>(size()) * static_cast<double>(nodes);
  if (work < 0) return false;
  const Tilt tilt = TiltAt(c);
  result.log_mgf = tilt.log_mgf;
  result.log_mgf_error = tilt.error;
  const Shares shares = At(c);
  const size_t atoms = loss_.size();
  const std::vector<double>& weight = shares.weight;
  // The mean of |L|, of the weights' errors, of both together, and of the losses' errors.
  double size_of_loss = 0, weight_error = 0, moment_error = 0, loss_error = 0, greatest = 0;
  double slope_constant = 0, slope_linear = 0;  // of the intervals' own factors
  for (size_t i = 0; i < size(); ++i) {
    const bool is_atom = i < atoms;
    double loss = 0, error = 0;
    if (is_atom) {
      loss = std::fabs(loss_[i]);
      error = loss_error_[i];
    } else {
      const Slope& slope = slopes_[i - atoms];
      const double x = std::fabs(slope.rate + c * slope.rise) * slope.half;
      const double reach = std::fabs(slope.rise) * slope.half;
      loss = std::fabs(slope.loss) + reach;
      error = slope.loss_error;
      slope_constant += weight[i] * (64 + 24 * x);
      slope_linear += weight[i] * 24 * loss;
    }
    size_of_loss += weight[i] * loss;
    weight_error += weight[i] * shares.error[i];
    moment_error += weight[i] * shares.error[i] * loss;
    loss_error += weight[i] * (error + 4 * relative_error_ + 16 * kUnitRoundoff * loss);
    greatest = std::fmax(greatest, loss);
  }
  if (!(spacing * static_cast<double>(nodes) * greatest < kGreatestTurn)) return false;
  const double by_sums = kUnitRoundoff * (static_cast<double>(size()) + 16);
  const double per_y = 1.1 * (moment_error + weight_error * size_of_loss + loss_error +
                              by_sums * size_of_loss + kUnitRoundoff * slope_linear);
  const double constant = 1.1 * kUnitRoundoff * slope_constant;

  std::vector<double> half_angle(atoms), sine(atoms), cosine(atoms);
  for (size_t k = 0; k < nodes; ++k) {
    const double y = spacing * static_cast<double>(k + 1);
    for (size_t i = 0; i < atoms; ++i) half_angle[i] = 0.5 * y * loss_[i];
    SinCos(half_angle, sine, cosine);
    double re = 0, im = 0;  // of ψ - 1
    for (size_t i = 0; i < atoms; ++i) {
      re -= 2 * weight[i] * sine[i] * sine[i];
      im += 2 * weight[i] * sine[i] * cosine[i];
    }
    for (size_t i = 0; i < slopes_.size(); ++i) {
      const Slope& slope = slopes_[i];
      const Complex turned =
          std::polar(1.0, y * slope.loss) *
          TurnedSinhc((slope.rate + c * slope.rise) * slope.half, y * slope.rise * slope.half);
      re += weight[atoms + i] * (turned.real() - 1);
      im += weight[atoms + i] * turned.imag();
    }
    const double modulus = std::hypot(1 + re, im);
    const double absolute = constant + y * per_y + (modulus < 0.5 ? 4 * kUnitRoundoff : 0);
    if (modulus > 2 * absolute) {
      // Near 1 from |ψ|² - 1, which keeps the digits of ψ - 1.
      result.log_modulus[k] =
          modulus < 0.5 ? std::log(modulus) : 0.5 * std::log1p(re * (2 + re) + im * im);
      const double rounding = std::fmin(8, y * size_of_loss + std::fabs(result.log_modulus[k]));
      result.error[k] = 1.1 * absolute / (modulus - absolute) + 64 * kUnitRoundoff * rounding;
    } else {
      // Lost in its error: at most this, of any phase; e^{1.2} - 1 > 2.
      result.log_modulus[k] = std::log(modulus + absolute);
      result.error[k] = 1.2;
    }
    result.phase[k] = std::atan2(im, 1 + re);
  }
  return true;
}

}  // namespace dpledger::accountant::contour
