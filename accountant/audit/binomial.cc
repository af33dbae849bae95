#include "accountant/audit/binomial.h"

#include <algorithm>
#include <cmath>

#include "accountant/numeric/rounding.h"

namespace dpledger::accountant::audit {
namespace {

// Weights below it are not kept.
constexpr double kLeastWeight = 1e-290;

}  // namespace

// From the mode outward by the ratio of neighbours: P(W = j+1)/P(W = j) = e^t (n - j)/(j + 1). No
// factor cancels, so the error grows by a few roundings a step.
Binomial::Binomial(uint64_t trials, double log_odds) : trials_(trials) {
  const double odds = std::exp(log_odds), inverse = std::exp(-log_odds);
  const double n = static_cast<double>(trials);
  mode_ = static_cast<uint64_t>(std::clamp(std::floor((n + 1) / (1 + inverse)), 0.0, n));
  double weight = 1;
  uint64_t j = mode_;
  std::vector<double> downward;
  while (j > 0 && weight >= kLeastWeight) {
    weight *= static_cast<double>(j) * inverse / static_cast<double>(trials - j + 1);
    downward.push_back(weight);
    --j;
  }
  first_ = j;
  if (first_ > 0) below_ = 2 * weight;
  weights_.assign(downward.rbegin(), downward.rend());
  weights_.push_back(weight = 1);
  for (j = mode_; j < trials_ && weight >= kLeastWeight; ++j) {
    weight *= static_cast<double>(trials - j) * odds / static_cast<double>(j + 1);
    weights_.push_back(weight);
  }
  if (j < trials_) above_ = 2 * weight;
  for (const double each : weights_) sum_ += each;
}

// A step is two products, a quotient and e^±t within 2 ulp: under 1e-15. A sum adds half an ulp a
// term.
double Binomial::RelativeError() const {
  return 2e-15 * (static_cast<double>(weights_.size()) + 10);
}

Interval Binomial::UpperTail(uint64_t k) const {
  if (k == 0) return {1, 1};
  const uint64_t last = first_ + weights_.size() - 1;
  double inside = 0, outside = 0;
  for (uint64_t j = first_; j <= last; ++j) (j >= k ? inside : outside) += weights_[j - first_];
  const double error = RelativeError();
  // The weights that are not kept lie below k, above it, or on both sides.
  const double above = MulUp(above_, static_cast<double>(trials_ - last));
  const double below = MulUp(below_, static_cast<double>(first_));
  const double both = AddUp(above, below);
  const double inside_up = AddUp(MulUp(inside, 1 + error), k <= first_ ? both : above);
  const double outside_up = AddUp(MulUp(outside, 1 + error), k > last ? both : below);
  const double inside_down = std::fmax(0, MulDown(inside, 1 - error));
  const double outside_down = std::fmax(0, MulDown(outside, 1 - error));
  // A/(A + B) grows with A and falls with B.
  return {std::fmax(0, DivDown(inside_down, AddUp(inside_down, outside_up))),
          std::fmin(1, DivUp(inside_up, AddDown(inside_up, outside_down)))};
}

double Binomial::GreatestMeanBelow(uint64_t k) const {
  if (k == 0) return 0;
  const uint64_t last = first_ + weights_.size() - 1;
  double greatest = 0, sum = 0, count = 0;
  uint64_t j = k - 1;
  if (j > last) {
    count = static_cast<double>(j - last);
    sum = MulUp(above_, count);
    greatest = above_;
    j = last;
  }
  for (; j >= first_; --j) {
    const double weight = weights_[j - first_];
    // Below the mode probabilities fall: from here on no mean is greater.
    if (j < mode_ && weight <= greatest) break;
    sum += weight;
    count += 1;
    greatest = std::fmax(greatest, sum / count);
    if (j == 0) break;
  }
  greatest = std::fmax(greatest, k <= first_ ? below_ : 0);
  const double error = RelativeError();
  return DivUp(MulUp(greatest, 1 + 2 * error), MulDown(sum_, 1 - error));
}

}  // namespace dpledger::accountant::audit
