#include "accountant/contour/envelope.h"

#include <cmath>

#include "accountant/numeric/constants.h"
#include "accountant/numeric/rounding.h"

namespace dpledger::accountant::contour {
namespace {

constexpr size_t kHeights = 16;

}  // namespace

Envelope::Envelope(const Step& step, double c, double log_mgf, double digits)
    : step_(step), power_(Power(step, c)), log_mgf_(log_mgf), digits_(digits) {
  if (IsFine(step) || step.cut.exists()) TakeMoments();
}

void Envelope::TakeMoments() {
  // Their errors are far below the slack of 1e-9 that is added; the range goes 2μ further, as r²
  // does.
  constexpr double kDigitsOfMoments = 40, kSlack = 1e-9, kGreatestExponent = 1e5;
  const double mu = step_.mu;
  const Rule rule = power_ < 0 ? RuleFor(step_, power_, 0, kDigitsOfMoments + 2 * mu * (9 + mu))
                               : RuleFor(step_, power_ + 2, 0, kDigitsOfMoments);
  if (rule.size == 0) return;
  const size_t padded = Padded(rule.size);
  std::vector<double> loss(padded), weight(padded);
  FillLoss(NodesOf(step_, rule, nullptr), loss.data());
  SumWeights(NodesOf(step_, rule, loss.data()), power_, weight.data());
  const double greatest = std::fmax(std::fabs(loss[0]), std::fabs(loss[rule.size - 1]));
  if (!((1 + std::fabs(power_)) * greatest < kGreatestExponent)) return;
  double total = 0, mean = 0, square = 0;
  for (size_t i = 0; i < rule.size; ++i) {
    const double t = (rule.first + static_cast<double>(i)) * rule.step;
    const double r = step_.q * std::exp(mu * (t - mu / 2) - loss[i]);
    total += weight[i];
    mean += weight[i] * r;
    square += weight[i] * r * r;
  }
  sampled_ = mean / total * (1 - kSlack);
  sampled_square_ = square / total * (1 + kSlack);
  cut_error_ = 2.2 * CutError(step_, power_);
  // Past the cut the moments have as much at most.
  if (!(cut_error_ < 1e-10 * sampled_square_)) sampled_ = 0;
}

double Envelope::LogBoundByMoments(double y) const {
  // e^{-s} <= 1 - s + s²/2 for s = y·θ, θ >= r·sin x (1 - x²/3), x = μη; at nearly the best η.
  const double turn = y * step_.mu;
  double eta = std::fmin(turn * sampled_ / (1 + turn * turn * sampled_square_), 0.5 / step_.mu);
  if (step_.cut.exists()) eta = std::fmin(eta, step_.cut.width);
  const double x = step_.mu * eta, angle = y * std::sin(x) * (1 - x * x / 3);
  const auto bound = [&](double by_power, double of_r) {
    const double lost = eta * eta / 2 + by_power + of_r * of_r * sampled_square_ / 2;
    return lost * (1 + 1e-9) - of_r * sampled_ * (1 - 1e-9);
  };
  double best = bound(std::fmin(0, power_) * std::log(std::cos(x / 2)), angle);
  // Or |1+u(t+iη)|^power <= (1+u)^power e^{0.534 |power| r x²}, less where r is small.
  const double left = angle + std::fmin(0, power_) * 0.534 * x * x * (1 + 1e-9);
  if (left > 0) best = std::fmin(best, bound(0, left));
  return std::fmin(0, best + cut_error_);
}

void Envelope::Build(size_t index) {
  if (heights_.empty()) heights_.resize(kHeights);
  Height& height = heights_[index];
  if (height.built) return;
  height.built = true;
  height.eta = 0.9 * kPi / step_.mu * std::exp2(-static_cast<double>(index));
  const Rule rule = RuleForEnvelope(step_, power_, height.eta, digits_);
  if (rule.size == 0) {
    height.error = kInfinity;
    return;
  }
  const size_t padded = Padded(rule.size);
  height.size = padded;
  height.nodes.resize(2 * padded);
  kept_ += 2 * padded;
  FillEnvelope(NodesOf(step_, rule, nullptr), power_, height.eta, height.nodes.data(),
               height.nodes.data() + padded);
  height.shift = std::log(rule.step) - kLogSqrtTwoPi - log_mgf_;
  height.error = rule.error;
  // Of the exponents, over the whole range: t², the power's logarithm (at most that of the loss)
  // and, through both, μ and its width, all worse by 1/cos(μη/2) where 1 + u(t+iη) is small beside
  // its terms. Angles alike, relatively; as ye^{-yθ}·θ <= 1/e, of the weights' whole sum, which is
  // at most `lift` of A.
  const double t = (std::fabs(rule.first) + static_cast<double>(padded)) * rule.step;
  const double base = step_.mu * (t + step_.mu);
  const double lift = power_ < 0 ? std::pow(std::cos(step_.mu * height.eta / 2), power_) : 1;
  height.rounding = ((1 + std::fabs(power_)) * (16 + 6 * base) * (kUnitRoundoff + step_.spread) /
                         std::cos(step_.mu * height.eta / 2) +
                     kUnitRoundoff * (32 + 2 * t * t + 4 * std::fabs(height.shift) +
                                      static_cast<double>(padded)));
  height.error += height.rounding * lift;
}

double Envelope::LogBoundAt(size_t index, double y) {
  Build(index);
  const Height& height = heights_[index];
  if (height.size == 0) return 0;
  const double sum = SumEnvelope(height.nodes.data(), height.nodes.data() + height.size,
                                 height.size, height.shift, y);
  const double bound =
      height.eta * height.eta / 2 + std::log(sum * (1 + 2 * height.rounding) + height.error);
  return std::isnan(bound) ? 0 : std::fmin(0, bound);
}

Envelope::Height Envelope::SampledHeight(double k, double eta, double digits) {
  Height height;
  height.eta = eta;
  const Rule rule = RuleForSampled(step_, power_, k, eta, digits);
  if (rule.size == 0) return height;
  height.size = Padded(rule.size);
  height.nodes.resize(2 * height.size);
  kept_ += 2 * height.size;
  FillEnvelope(NodesOf(step_, rule, nullptr), power_ - k, eta, height.nodes.data(),
               height.nodes.data() + height.size);
  for (size_t i = 0; i < rule.size; ++i) {
    const double t = (rule.first + static_cast<double>(i)) * rule.step;
    height.nodes[i] += k * (std::log(step_.q) + step_.mu * (t - step_.mu / 2));
  }
  height.shift = std::log(rule.step) - kLogSqrtTwoPi - log_mgf_;
  height.error = rule.error;
  return height;
}

double Envelope::LogBoundBySampled(double y) {
  constexpr double kSlack = 1e-9;
  const auto sum = [](const Height& height, double at) {
    return SumEnvelope(height.nodes.data(), height.nodes.data() + height.size, height.size,
                       height.shift, at);
  };
  if (by_k_.empty()) {
    for (const double k : {1.0, 2.0, 4.0, 8.0}) {
      const Height still = SampledHeight(k, 0, 26);
      if (still.size == 0 || !(still.error < 0.5)) continue;
      const double mean = sum(still, 0);
      by_k_.push_back(
          {mean * (1 - kSlack) / (1 + still.error), mean * (1 + kSlack) / (1 - still.error), {}});
      for (double turn = 0.9 * kPi; turn > 0.01; turn /= 2)
        by_k_.back().heights.push_back(SampledHeight(k, turn / step_.mu, 12));
    }
  }
  double best = 0;
  for (const Sampled& sampled : by_k_) {
    for (const Height& height : sampled.heights) {
      if (height.size == 0) continue;
      const double turned = std::exp(height.eta * height.eta / 2) *
                            (sum(height, y) + height.error * sampled.mean_up) * (1 + kSlack);
      best = std::fmin(best, turned - sampled.mean_down);
    }
  }
  return best;
}

double Envelope::LogBound(double y, size_t& height) {
  if (step_.q == 1) return -0.5 * y * y * step_.mu * step_.mu * (1 - 4 * step_.spread);
  // Heavy jumps, or few: s² has the greater part there, and a height of its own may show more.
  const double turn = y * step_.mu;
  const double by_moments = sampled_ > 0 ? LogBoundByMoments(y) : 0;
  const bool rare = step_.mu < 1;  // noise so great that hardly an inclusion shows
  const bool alone = rare && by_moments < 0 && turn * turn * sampled_square_ < 0.5;
  if (alone || step_.cut.exists()) return by_moments;
  const double by_heights = std::fmin(by_moments, LogBoundByHeights(y, height));
  return sampled_ > 0 ? std::fmin(by_heights, LogBoundBySampled(y)) : by_heights;
}

double Envelope::LogBoundByHeights(double y, size_t& height) {
  // Any height is valid; the best falls with 1/y.
  double best = LogBoundAt(height, y);
  const size_t start = height;
  for (size_t next = start + 1; next < kHeights; ++next) {
    const double bound = LogBoundAt(next, y);
    if (bound >= best && best < 0) break;
    if (bound < best) {
      best = bound;
      height = next;
    }
  }
  if (height != start) return best;
  for (size_t next = start; next-- > 0;) {
    const double bound = LogBoundAt(next, y);
    if (bound >= best && best < 0) break;
    if (bound < best) {
      best = bound;
      height = next;
    }
  }
  return best;
}

}  // namespace dpledger::accountant::contour
