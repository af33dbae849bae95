#include "accountant/contour/saddle.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "accountant/contour/pair_loss.h"
#include "accountant/numeric/constants.h"
#include "accountant/numeric/rounding.h"

namespace dpledger::accountant::contour {
namespace {

// K is wanted to about e^{-kDigits} of the composition's: aliases are bounded with it.
constexpr double kDigits = 10;
// Losses kept between questions, over all steps: 64 MiB.
constexpr size_t kGreatestKept = size_t{1} << 23;
constexpr double kLeastOrder = 1e-13, kGreatestOrder = 1e13;
// An order this close to the saddle, in units of the saddle's width, has as good a line.
constexpr double kNear = 0.2;

}  // namespace

double LogKernel(double c) { return std::log(std::fabs(c)) + std::log1p(c); }
double LogChernoff(double r) { return r > 0 ? r * std::log(r / (1 + r)) - std::log1p(r) : 0; }

double LogDeltaEstimate(const Saddle& at, double epsilon) {
  return at.log_mgf - at.c * epsilon - LogKernel(at.c) - 0.5 * std::log(2 * kPi * at.Curvature());
}

Tilting::Tilting(std::vector<Step> steps, const Limits& limits)
    : steps_(std::move(steps)), limits_(limits) {
  double count = 0;
  for (const Step& step : steps_) count += step.count;
  log_count_ = std::log(count);
}

bool Tilting::Reach(double c) {
  if (c <= reach_) return true;
  const double reach = 2 * c + 4;
  std::vector<Rule> rules(steps_.size());
  size_t total = 0, largest = 0;
  for (size_t i = 0; i < steps_.size(); ++i) {
    if (steps_[i].q == 1) continue;
    rules[i] = RuleOfStep(steps_[i], Power(steps_[i], reach), 0, kDigits + log_count_);
    const size_t padded = Padded(rules[i].size);
    if (padded == 0) return false;
    total += padded;
    largest = std::max(largest, padded);
  }
  if (total > kGreatestKept) return false;
  rules_ = std::move(rules);
  loss_.resize(total);
  scratch_.resize(largest);
  at_.assign(steps_.size(), 0);
  size_t at = 0;
  for (size_t i = 0; i < steps_.size(); ++i) {
    if (i % 1024 == 0 && stopped_.ok()) stopped_ = limits_.Check();
    if (steps_[i].q == 1) continue;
    at_[i] = at;
    FillLoss(NodesOf(steps_[i], rules_[i], nullptr), loss_.data() + at);
    at += Padded(rules_[i].size);
  }
  reach_ = reach;
  return true;
}

Tilt Tilting::StepAt(size_t i, double c) {
  const Step& step = steps_[i];
  if (step.pair != nullptr) return step.pair->TiltAt(c);
  const double power = Power(step, c);
  if (step.q == 1) return TiltUnsampled(step, power);
  return TiltAt(step, rules_[i], loss_.data() + at_[i], power, scratch_.data());
}

Saddle Tilting::At(double c) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  // So that 1 + c is exact: K would be that of another c, by u, and e^{-cε} not, which is uε in log
  // δ.
  c = (1 + c) - 1;
  if (stopped_.ok()) stopped_ = limits_.Check();
  if (!stopped_.ok() || !(c > -1 && c != 0) || !Reach(c)) return {c, kNaN, kNaN, kNaN, kNaN};
  Saddle sum{c, 0, 0, 0, 0};
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    const Tilt tilt = StepAt(i, c);
    sum.log_mgf += step.count * tilt.log_mgf;
    sum.error += step.count * tilt.error + 2 * kUnitRoundoff * std::fabs(sum.log_mgf);
    sum.mean += step.count * tilt.mean;
    sum.variance += step.count * tilt.variance;
  }
  return sum;
}

template <typename Excess>
Saddle Tilting::Above(double start, const Excess& excess) {
  double lo = std::log(kLeastOrder), hi = std::log(kGreatestOrder), x = std::log(start);
  Saddle at = At(start);
  for (int i = 0; i < 60; ++i) {
    // Not a number is out of reach, and too far.
    const auto [off, slope] = excess(at);
    (off < 0 ? lo : hi) = x;
    double next = std::fmin(x + 1.5, std::fmax(x - 1.5, x - off / slope));
    if (!(next > lo && next < hi)) next = std::isfinite(off) ? (lo + hi) / 2 : x - 1;
    if (std::isfinite(off) && std::fabs(next - x) * at.c * std::sqrt(at.Curvature()) < kNear) break;
    if (!stopped_.ok() || hi - lo < 1e-12) break;
    x = next;
    at = At(std::exp(x));
  }
  return at;
}

// The derivative of a convex function vanishes.
Saddle Tilting::ForEpsilon(double epsilon, double start) {
  return Above(start, [&](const Saddle& at) {
    return std::pair(at.Epsilon() - epsilon, at.c * at.Curvature());
  });
}

// The estimate falls by c² times the curvature for each unit of log c, its slower parts left out.
Saddle Tilting::ForDelta(double log_delta, double start) {
  return Above(start, [&](const Saddle& at) {
    return std::pair(log_delta - LogDeltaEstimate(at, at.Epsilon()), at.c * at.c * at.Curvature());
  });
}

template <typename Excess>
Saddle Tilting::Below(const Excess& excess) {
  // In the logarithm of (1 + c)/-c.
  double low = -36, high = 36;
  Saddle at;
  for (int i = 0; i < 40; ++i) {
    const double x = (low + high) / 2;
    at = At(-1 / (1 + std::exp(x)));
    if (!stopped_.ok() || !std::isfinite(at.log_mgf)) break;
    (excess(at) > 0 ? high : low) = x;
    // What one more halving changes in c.
    if ((high - low) * -at.c * (1 + at.c) * std::sqrt(at.Curvature()) < kNear) break;
  }
  return at;
}

Saddle Tilting::ForEpsilonBelow(double epsilon) {
  return Below([&](const Saddle& at) { return at.Epsilon() - epsilon; });
}

Saddle Tilting::ForRest(double log_rest) {
  return Below([&](const Saddle& at) { return LogDeltaEstimate(at, at.Epsilon()) - log_rest; });
}

}  // namespace dpledger::accountant::contour
