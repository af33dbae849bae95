#include "tests/twin/estimates.h"

#include <cmath>
#include <limits>
#include <vector>

namespace dpledger::twin {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kPi = 3.14159265358979323846;

double EstimatedLoss(double q, double mu, double t) {
  const double v = mu * t - mu * mu / 2;
  return v > 30 ? v + std::log(q + (1 - q) * std::exp(-v)) : std::log1p(q * std::expm1(v));
}

}  // namespace

double Minimum(const std::function<double(double)>& f, double low, double high) {
  const double golden = (std::sqrt(5) - 1) / 2;
  double a = std::log(low), b = std::log(high);
  double x = b - golden * (b - a), y = a + golden * (b - a);
  double fx = f(std::exp(x)), fy = f(std::exp(y));
  for (int i = 0; i < 40 && b - a > 1e-3; ++i) {
    if (!(fy < fx)) {
      b = y, y = x, fy = fx, x = b - golden * (b - a), fx = f(std::exp(x));
    } else {
      a = x, x = y, fx = fy, y = a + golden * (b - a), fy = f(std::exp(y));
    }
  }
  return std::exp((a + b) / 2);
}

double EstimatedMoment(const Kind& kind, const Cut& cut, double power) {
  const double q = kind.q.Middle(), mu = kind.mu.Middle();
  const bool soft = cut.has_low() || cut.has_high();
  const double height =
      std::fmin(6, 0.9 * std::fmin(kPi / mu, soft ? kPi / 2 * cut.width : kInfinity));
  const double h = 2 * kPi * height / 45;
  const double to = std::fmin(14 + std::fmax(1, 2 * power * mu),
                              cut.has_high() ? cut.high + 7 * cut.width : kInfinity);
  const double from = -14 - (power < 0 ? std::fmin(-power * mu, 300) : 0);
  double greatest = -kInfinity, sum = 0;
  for (double t = from; t < to; t += h) {
    double f = power * EstimatedLoss(q, mu, t) - t * t / 2;
    const double high = cut.has_high() ? std::exp((t - cut.high) / cut.width) : 0;
    f -= high;
    if (cut.has_low()) f += std::log(-std::expm1(high - std::exp((t - cut.low) / cut.width)));
    if (!(f > greatest - 45)) continue;
    if (f > greatest) {
      sum = sum * std::exp(greatest - f) + 1;
      greatest = f;
    } else {
      sum += std::exp(f - greatest);
    }
  }
  return greatest + std::log(sum * h / std::sqrt(2 * kPi));
}

double EstimatedEnvelope(const Kind& kind, const Cut& cut, double power, double y, double& b) {
  const double q = kind.q.Middle(), mu = kind.mu.Middle();
  double greatest = std::fmin(8, 0.95 * kPi / mu);
  if (cut.has_high()) greatest = std::fmin(greatest, 0.95 * kPi / 2 * cut.width);
  const double h = std::fmin(0.25, 0.5 / mu);
  const double to = std::fmin(10 + std::fmax(1, 2 * power * mu),
                              cut.has_high() ? cut.high + 7 * cut.width : kInfinity);
  const double from = -10 - (power < 0 ? std::fmin(-power * mu, 300) : 0);
  std::vector<double> log_size, rise;
  for (double t = from; t < to; t += h) {
    log_size.push_back(-t * t / 2);
    rise.push_back(q * std::exp(std::fmin(600, mu * t - mu * mu / 2)));
  }
  const auto at = [&](double height) {
    const double cosine = std::cos(mu * height), sine = std::sin(mu * height);
    const double share = cut.has_high() ? std::cos(height / cut.width) : 0;
    double top = -kInfinity, sum = 0;
    for (size_t i = 0; i < rise.size(); ++i) {
      const double re = 1 - q + rise[i] * cosine, im = rise[i] * sine;
      double f = log_size[i] + power * std::log(std::hypot(re, im)) - y * std::atan2(im, re);
      if (cut.has_high()) {
        const double t = from + static_cast<double>(i) * h;
        f -= share * std::exp((t - cut.high) / cut.width);
      }
      if (f > top) {
        sum = sum * std::exp(top - f) + 1;
        top = f;
      } else {
        sum += std::exp(f - top);
      }
    }
    return height * height / 2 + top + std::log(sum * h / std::sqrt(2 * kPi));
  };
  b = Minimum(at, 1e-6, greatest);
  return at(b);
}

}  // namespace dpledger::twin
