#include "accountant/contour/tilted_step.h"

#include <cmath>
#include <limits>

#include "accountant/numeric/rounding.h"
#include "accountant/numeric/sampled_loss.h"
#include "accountant/numeric/small_differences.h"

namespace dpledger::accountant::contour {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kPi = 3.14159265358979323846;
constexpr double kLogSqrtTwoPi = 0.91893853320467274178;
constexpr double kGreatestNodes = 1 << 16;
// What lies outside a step's integration range, relatively (CLAIM.md, line "ends").
constexpr double kEnds = 1e-24;

double Order(const Step& step, double c) { return step.add ? -c : c + 1; }

// At height a the integrand with exponent order + iy', |y'| <= y, is at most e^{a²/2} e^{yμa}
// cos(μa/2)^{min(0, order)} times its value on the real line (the cosine only where the power is
// negative). The trapezoid's relative error is twice that over e^{2πa/h} - 1 (Trefethen, Weideman
// 2014, thm. 5.1).
//
// The largest step whose error is e^{-digits}, over a few heights of at most `limit`. `shift` is a
// height already taken up.
double StepSize(const Step& step, double order, double y, double digits, double limit,
                double shift) {
  double best = 0;
  for (const double share : {1.0, 0.7, 0.5, 0.35, 0.25, 0.15, 0.08, 0.04}) {
    const double a = share * std::fmin(limit, std::sqrt(2 * digits) + 1);
    const double cosine = order < 0 ? order * std::log(std::cos(step.mu * (a + shift) / 2)) : 0;
    best = std::fmax(best, 2 * kPi * a / (digits + 0.75 + a * a / 2 + y * step.mu * a + cosine));
  }
  return best;
}

// The integration range. Past its ends the log-integrand of φ(t)(1+u)^order falls with slope 11 or
// more; it also covers φ(t)u(t), whose mean is used as exactly 0.
struct Range {
  double first, last;
};
Range RangeOf(const Step& step, double order) {
  if (order >= 0) return {-11, order * step.mu + 11};
  return {order * step.mu * step.q - 11, step.mu + 11};
}

}  // namespace

Tilted Tilt(const Step& step, double c, double greatest_y, double digits, Precision precision) {
  const double order = Order(step, c);
  Tilted result;
  const double sign = step.add ? -1 : 1;
  if (step.q == 1) {
    const double square = step.mu * step.mu;
    result.log_mgf = order * (order - 1) / 2 * square;
    result.log_mgf_error = 8 * kUnitRoundoff * std::fabs(order) * (std::fabs(order) + 1) * square;
    result.mean = (c + 0.5) * square;
    result.variance = square;
    return result;
  }
  const Range range = RangeOf(step, order);
  const double h = StepSize(step, order, greatest_y, digits, 0.98 * kPi / step.mu, 0);
  if (!((range.last - range.first) / h < kGreatestNodes)) {
    result.log_mgf = kInfinity;
    return result;
  }
  // Weights relative to the greatest, and beside them A - 1 by terms that are O(u²) each (E[u] =
  // 0).
  std::vector<double> exponent;
  double greatest = -kInfinity, near_one = 0, near_one_size = 0;
  for (double i = std::floor(range.first / h); i * h <= range.last; ++i) {
    const double t = i * h, y = step.mu * t - step.mu * step.mu / 2;
    const double u = step.q * std::expm1(y);
    const double l = SampledLoss(step.q, y);
    const double log_normal = -0.5 * t * t - kLogSqrtTwoPi, power = order * l;
    exponent.push_back(log_normal + power);
    greatest = std::fmax(greatest, exponent.back());
    result.loss.push_back(sign * l);
    if (precision == Precision::kRough) continue;
    const double normal = std::exp(log_normal);
    const double convex = power > 1 ? std::exp(log_normal + power) - normal * (1 + power)
                                    : normal * ExpM1MinusX(power);
    const double slope = normal * order * (u > -0.5 ? Log1PMinusX(u) : l - u);
    near_one += convex + slope;
    near_one_size += (std::fabs(convex) + std::fabs(slope)) *
                     (1 + 0.5 * t * t + step.mu * (std::fabs(t) + step.mu) + std::fabs(power));
  }
  double sum = 0, mean = 0, square = 0;
  for (size_t k = 0; k < exponent.size(); ++k) {
    result.weight.push_back(std::exp(exponent[k] - greatest));
    sum += result.weight[k];
  }
  for (size_t k = 0; k < exponent.size(); ++k) {
    result.weight[k] /= sum;
    if (result.weight[k] > 1e-25) {
      const double t = std::fabs(range.first + h * static_cast<double>(k)) + h;
      result.weight_error =
          std::fmax(result.weight_error, 8 * kUnitRoundoff *
                                             (4 + 0.5 * t * t + std::fabs(order * result.loss[k]) +
                                              step.mu * (t + step.mu) * (1 + std::fabs(order))));
    }
    mean += result.weight[k] * result.loss[k];
    square += result.weight[k] * result.loss[k] * result.loss[k];
  }
  result.mean = mean;
  result.variance = std::fmax(0, square - mean * mean);
  const double nodes = static_cast<double>(exponent.size()),
               quadrature = std::exp(-digits) * 4 * (1 + std::fabs(order)) + kEnds;
  const double by_logs = greatest + std::log(sum * h);
  const double logs_error =
      result.weight_error +
      kUnitRoundoff * (32 + nodes + 8 * (std::fabs(greatest) + std::fabs(by_logs))) + quadrature;
  const double excess = near_one * h;
  const double excess_error = kUnitRoundoff * (16 + nodes) * near_one_size * h + quadrature;
  if (precision == Precision::kExact && std::isfinite(excess) && excess < 0.5 &&
      excess_error < logs_error) {
    result.log_mgf = std::log1p(excess);
    result.log_mgf_error = 2 * excess_error + 4 * kUnitRoundoff * excess;
  } else {
    result.log_mgf = by_logs;
    result.log_mgf_error = logs_error;
  }
  return result;
}

LogRatio LogRatioAt(const Step& step, const Tilted& tilted, double c, double y, double digits) {
  if (step.q == 1) {
    const double square = step.mu * step.mu;
    const double phase = y * (c + 0.5) * square, decay = -0.5 * y * y * square;
    return {{decay, phase}, 8 * kUnitRoundoff * (std::fabs(phase) + std::fabs(decay))};
  }
  // ψ - 1 = Σ w (e^{iyL} - 1), each term by half angles: exact in size where yL is small.
  double re = 0, im = 0, size = 0;
  for (size_t k = 0; k < tilted.loss.size(); ++k) {
    const double half = 0.5 * y * tilted.loss[k];
    const double s = std::sin(half), cosine = std::cos(half);
    re -= tilted.weight[k] * 2 * s * s;
    im += tilted.weight[k] * 2 * s * cosine;
    size += tilted.weight[k] * std::fabs(half);
  }
  const double nodes = static_cast<double>(tilted.loss.size());
  const double relative = tilted.weight_error + kUnitRoundoff * (nodes + 16);
  const double error = 2 * size * relative + 2 * std::exp(-digits) + kEnds;
  const double modulus = std::hypot(1 + re, im);
  if (!(modulus > 2 * error)) return {{std::log(modulus), 0}, kInfinity};
  const double log_modulus =
      modulus < 0.5 ? std::log(modulus) : 0.5 * std::log1p(re * (2 + re) + im * im);
  return {{log_modulus, std::atan2(im, 1 + re)},
          1.1 * error / (modulus - error) + 4 * kUnitRoundoff * size};
}

// |E[e^{(c+iy)L}]| <= e^{η²/2} E[|1+u(t+iη)|^order e^{-yθ(t)}], θ = arg(1+u(t+iη)) >= 0, which
// falls with y. Its own quadrature is bounded on the strip that is left.
Envelope::Envelope(const Step& step, const Tilted& tilted, double c)
    : step_(step), order_(Order(step, c)), log_mgf_(tilted.log_mgf - tilted.log_mgf_error) {}

const Envelope::Height& Envelope::At(size_t index) {
  while (heights_.size() <= index) {
    const double eta = 0.9 * kPi / step_.mu * std::exp2(-static_cast<double>(heights_.size()));
    const double cos_eta = std::cos(step_.mu * eta), sin_eta = std::sin(step_.mu * eta);
    constexpr double kDigits = 36;
    const double strip = std::fmin(0.98 * kPi / step_.mu - eta, 0.5 * kPi / step_.mu);
    const double h = StepSize(step_, order_, 0, kDigits, strip, eta);
    const Range range = RangeOf(step_, order_);
    // What |1+u(t+iη)|^order may add outside the range, where it can exceed (1+u)^order.
    const double ends =
        kEnds * (order_ < 0 ? std::exp(order_ * std::log(std::cos(step_.mu * eta / 2))) : 1);
    Height height{eta, {}, {}, 2 * std::exp(-kDigits) + ends, 0};
    double greatest = -kInfinity;
    if (!((range.last - range.first) / h < kGreatestNodes)) height.error = kInfinity;
    for (double i = std::floor(range.first / h); i * h <= range.last && std::isfinite(height.error);
         ++i) {
      const double t = i * h;
      const double rise = step_.q * std::exp(step_.mu * t - step_.mu * step_.mu / 2);
      const double re = 1 - step_.q + rise * cos_eta, im = rise * sin_eta;
      const double power = order_ * 0.5 * std::log(re * re + im * im);
      height.log_weight.push_back(-0.5 * t * t - kLogSqrtTwoPi + power - log_mgf_ + std::log(h));
      greatest = std::fmax(greatest, height.log_weight.back());
      // Of the exponents' parts, where the term counts; below, they are in `error`.
      if (height.log_weight.back() > greatest - 60) {
        height.rounding = std::fmax(
            height.rounding, 8 * kUnitRoundoff *
                                 (64 + 0.5 * t * t + std::fabs(power) + std::fabs(log_mgf_) +
                                  step_.mu * (std::fabs(t) + step_.mu) * (1 + std::fabs(order_))));
      }
      height.angle.push_back(std::atan2(im, re));
    }
    heights_.push_back(std::move(height));
  }
  return heights_[index];
}

double Envelope::LogBoundAt(size_t index, double y) {
  const Height& height = At(index);
  double sum = 0;
  for (size_t k = 0; k < height.angle.size(); ++k)
    sum += std::exp(height.log_weight[k] - y * height.angle[k]);
  const double nodes = static_cast<double>(height.angle.size());
  const double bound = height.eta * height.eta / 2 +
                       std::log(sum * (1 + height.rounding + nodes * kUnitRoundoff) + height.error);
  return std::isnan(bound) ? 0 : std::fmin(0, bound);
}

size_t Envelope::size() const {
  size_t nodes = 0;
  for (const Height& height : heights_) nodes += height.angle.size();
  return nodes;
}

double Envelope::LogBound(double y) {
  if (step_.q == 1) return -0.5 * y * y * step_.mu * step_.mu;
  // Any height is valid; the best falls with 1/y, so the search goes on from the last one's.
  constexpr size_t kHeights = 16;
  double best = LogBoundAt(best_, y);
  for (size_t next = best_ + 1; next < kHeights; ++next) {
    const double bound = LogBoundAt(next, y);
    if (bound >= best && best < 0) break;
    if (bound <= best) {
      best = bound;
      best_ = next;
    }
  }
  while (best_ > 0) {
    const double bound = LogBoundAt(best_ - 1, y);
    if (bound >= best) break;
    best = bound;
    --best_;
  }
  return best;
}

}  // namespace dpledger::accountant::contour
