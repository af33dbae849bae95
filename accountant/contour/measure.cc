#include "accountant/contour/measure.h"

#include <cmath>

#include "accountant/contour/saddle.h"
#include "accountant/numeric/constants.h"
#include "accountant/numeric/rounding.h"

namespace dpledger::accountant::contour {
namespace {

constexpr double kUnit = kUnitRoundoff;
// Nanoseconds: to lay a node, to sum it at one order and in an envelope, and a cell's bound.
constexpr double kOfLaying = 30, kOfNode = 6, kOfEnvelope = 15, kOfCell = 20;
constexpr double kLeastOrder = 1e-6, kGreatestOrder = 1e7;

}  // namespace

double LogChernoffFrom0(double r) { return r > 0 ? LogChernoff(r) : 0.0; }

double Chernoff::LogDeltaUp(double epsilon) const {
  // The power is 1 + order, rounded.
  const double size = std::fabs(log_mgf) + (1 + order) * (1 + std::fabs(epsilon)) + 4;
  return log_mgf - order * epsilon + LogChernoffFrom0(order) + 16 * kUnit * size;
}

Measure::Measure(const std::vector<Step>& steps, const std::vector<Window>& windows, double digits,
                 JumpWork& work)
    : work_(work) {
  for (size_t i = 0; i < steps.size() && ok_; ++i) {
    const double own = digits + std::log(steps[i].count);
    shells_.emplace_back(steps[i], windows[i], std::sqrt(2 * (own + 12)));
    Shell& shell = shells_.back();
    const double eta = 0.75 * shell.GreatestHeight();
    heights_.push_back(eta);
    // The strip's integral exceeds the sum by e^{η²/2} and what a shifted cut lets through.
    ok_ = shell.Lay(2 * kPi * eta / (own + eta * eta / 2 + 8));
    Spend(kOfLaying * static_cast<double>(shell.nodes() + shell.cells()));
    ok_ = ok_ && !work_.IsSpent();
  }
}

Tilted Measure::At(double c, bool with_bound) const {
  // Sums over steps: of what is below (B), and of H - B where H = B + W.
  double log_below = 0, mean_below = 0, spread_below = 0;
  double ratio = 0, mean_more = 0, spread_more = 0;
  double log_high = 0, error = 0, log_shell = -kInfinity, shell_error = 0;
  for (size_t i = 0; i < shells_.size(); ++i) {
    const Shell& shell = shells_[i];
    const double count = shell.step().count, eta = with_bound ? heights_[i] : 0;
    Spend((has_below() ? 2 : 1) *
          (kOfNode * static_cast<double>(shell.nodes()) +
           (with_bound ? kOfCell * static_cast<double>(shell.cells()) : 0)));
    const double power = Power(shell.step(), c);
    CutSum w = shell.At(false, power, eta, 0, nullptr);
    if (shell.step().add) w.mean = -w.mean;
    if (!shell.has_below()) {
      log_high += count * w.log;
      mean_more += count * w.mean;
      spread_more += count * (w.square - w.mean * w.mean);
      error += count * w.Error() + 4 * kUnit * std::fabs(log_high);
      continue;
    }
    CutSum b = shell.At(true, power, eta, 0, nullptr);
    if (shell.step().add) b.mean = -b.mean;
    const double g = std::exp(w.log - b.log), log_ratio = std::log1p(g);
    const double mean_high = b.mean + g * (w.mean - b.mean) / (1 + g);
    const double square_more = g * (w.square - b.square) / (1 + g);
    log_below += count * b.log;
    mean_below += count * b.mean;
    spread_below += count * (b.square - b.mean * b.mean);
    ratio += count * log_ratio;
    mean_more += count * (mean_high - b.mean);
    spread_more += count * (square_more - (mean_high - b.mean) * (mean_high + b.mean));
    log_high += count * (b.log + log_ratio);
    error += count * (b.Error() + g * w.Error()) / (1 + g) + 8 * kUnit * std::fabs(log_high) +
             4 * kUnit * count * (std::fabs(b.log) + log_ratio);
    const double one = std::log(count) + w.log - b.log - log_ratio;
    log_shell = std::fmax(log_shell, one) + std::log1p(std::exp(-std::fabs(one - log_shell)));
    shell_error = std::fmax(shell_error, w.Error() + b.Error());
  }
  Tilted tilted;
  tilted.c = c;
  if (!has_below()) {
    tilted.log_mgf = log_high;
    tilted.mean = mean_more;
    tilted.variance = std::fmax(0, spread_more);
    tilted.upper = log_high + 1.1 * error;
    return tilted;
  }
  // e^{H} - e^{B} = e^{H}(1 - e^{-ratio}).
  const double share = -std::expm1(-ratio);
  tilted.log_mgf = log_below + ratio + std::log(share);
  tilted.mean = mean_below + mean_more / share;
  const double squares = (spread_more + mean_more * (mean_more + 2 * mean_below)) / share;
  tilted.variance =
      std::fmax(0, spread_below + mean_below * mean_below + squares - tilted.mean * tilted.mean);
  // Π H^T - Π B^T <= Π H^T min(1, Σ T W/H).
  tilted.upper = log_high + 1.1 * error + std::fmin(0, log_shell + 1.2 * shell_error + 1e-12);
  return tilted;
}

Tilted Measure::ForEpsilon(double epsilon) const {
  double lo = std::log(kLeastOrder), hi = std::log(kGreatestOrder);
  double x = std::log(std::fmin(1e3, 4 + 2 / (epsilon + 1e-3)));
  Tilted at = At(std::exp(x));
  for (int i = 0; i < 50; ++i) {
    const double c = at.c, curvature = at.variance + 1 / (c * c) + 1 / ((1 + c) * (1 + c));
    const double slope = at.mean - 1 / c - 1 / (1 + c) - epsilon;
    (slope < 0 ? lo : hi) = x;
    double next = x - slope / (c * curvature);
    next = std::fmin(x + 2, std::fmax(x - 2, next));
    if (!(next > lo && next < hi)) next = std::isfinite(slope) ? (lo + hi) / 2 : x - 1;
    if (std::isfinite(slope) && std::fabs(next - x) * c * std::sqrt(curvature) < 0.2) break;
    if (hi - lo < 1e-9) break;
    x = next;
    at = At(std::exp(x));
  }
  return at;
}

Chernoff Measure::ChernoffAt(double epsilon) const {
  const double c = ForEpsilon(epsilon).c;
  Chernoff best;
  for (const double order : {0.8 * c, 1.1 * c, 1.5 * c}) {
    const Chernoff bound{order, At(order, true).upper};
    if (bound.LogDeltaUp(epsilon) < best.LogDeltaUp(epsilon)) best = bound;
  }
  return best;
}

SumsAt Measure::Sums(double c) const {
  SumsAt sums;
  for (const Shell& shell : shells_) {
    const double power = Power(shell.step(), c);
    sums.shell.push_back(shell.At(false, power, 0, 0, nullptr));
    sums.below.push_back(shell.has_below() ? shell.At(true, power, 0, 0, nullptr) : CutSum{});
    const double log_shell = sums.shell.back().log, log_below = sums.below.back().log;
    sums.log_high.push_back(
        shell.has_below() ? log_below + std::log1p(std::exp(log_shell - log_below)) : log_shell);
    sums.log_all += shell.step().count * sums.log_high.back();
  }
  return sums;
}

double Measure::LogModulusFrom(const SumsAt& sums, double c, double y) const {
  // Π |H|^T for a shell alone; else Π H^T Σ T |W|/H.
  double log_product = 0, log_sum = -kInfinity;
  for (size_t i = 0; i < shells_.size(); ++i) {
    const Shell& shell = shells_[i];
    const double count = shell.step().count, power = Power(shell.step(), c);
    double best = kInfinity, cells = 0, nodes = 0;
    const auto size = static_cast<double>(shell.cells());
    if (has_below()) {
      ForHeights(shell.GreatestHeight(), [&](double eta) {
        best = std::fmin(best, shell.LogIntegral(false, power, eta, -y));
        cells += size;
      });
      best += std::log(count) - sums.log_high[i];
      log_sum = std::fmax(log_sum, best) + std::log1p(std::exp(-std::fabs(best - log_sum)));
    } else {
      const double greatest = std::fmin(shell.GreatestHeight(), shell.GreatestEnvelopeHeight());
      const double digits = 8 + std::log(count);
      ForHeights(greatest, [&](double eta) {
        best = std::fmin(best, shell.LogEnvelope(power, sums.log_high[i], eta, y, digits, nodes));
        cells += 2 * size;
      });
      log_product += count * std::fmin(0, best);
    }
    Spend(kOfCell * cells + kOfEnvelope * nodes);
  }
  return (has_below() ? log_sum : log_product) + sums.log_all;
}

}  // namespace dpledger::accountant::contour
