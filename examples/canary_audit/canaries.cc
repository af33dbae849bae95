#include "examples/canary_audit/canaries.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace dpledger::canary_audit {
namespace {

constexpr size_t kClasses = 2;

// Both classes in turn, so that the biases stay near 0.
int LabelOf(size_t canary) { return static_cast<int>(canary % kClasses); }

// P(normal > x).
double UpperTail(double x) { return std::erfc(x * std::sqrt(0.5)) / 2; }

}  // namespace

Canaries::Canaries(uint64_t count, uint64_t seed) : included_(count), rows_(count) {
  std::mt19937_64 coins(seed);
  for (size_t i = 0; i < count; ++i) included_[i] = (coins() >> 63) != 0;
  data_.feature_count = count;
  data_.class_count = kClasses;
  data_.features.resize(count *
                        static_cast<size_t>(std::count(included_.begin(), included_.end(), true)));
  for (size_t i = 0; i < count; ++i) {
    if (!included_[i]) continue;
    rows_[i] = data_.size();
    data_.features[rows_[i] * count + i] = kFeature;
    data_.labels.push_back(LabelOf(i));
  }
  for (size_t i = 0; i < count; ++i) {
    if (!included_[i]) rows_[i] = data_.size() + i;
  }
}

dp_sgd::TrainingPlan Canaries::Plan(uint64_t steps, double noise_multiplier) const {
  dp_sgd::TrainingPlan plan;
  plan.population = rows_;
  plan.expected_batch_size = static_cast<double>(rows_.size());
  plan.steps = steps;
  plan.clip_norm = kClipNorm;
  plan.noise_multiplier = noise_multiplier;
  // Divided by the batch size, a step changes a weight by about 1e-5 noise multipliers.
  plan.learning_rate = 1e-5 * plan.expected_batch_size / std::max(1.0, noise_multiplier);
  return plan;
}

examples::Network Canaries::MakeNetwork() const { return {rows_.size(), 0, kClasses}; }

Guesses Canaries::Guess(absl::Span<const float> before, absl::Span<const float> after,
                        uint64_t guesses) const {
  const size_t count = included_.size();
  // How far the weights of a canary's feature moved towards its class and away from the other.
  std::vector<double> scores(count);
  for (size_t i = 0; i < count; ++i) {
    const auto moved = [&](size_t label) {
      return double{after[label * count + i]} - double{before[label * count + i]};
    };
    const auto label = static_cast<size_t>(LabelOf(i));
    scores[i] = moved(label) - moved(1 - label);
  }
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return scores[a] < scores[b]; });
  Guesses result;
  for (size_t i = 0; i < guesses / 2; ++i) {
    result.made += 2;
    result.correct += !included_[order[i]];
    result.correct += included_[order[count - 1 - i]];
  }
  return result;
}

double ExpectedCorrectShare(uint64_t canaries, uint64_t guesses, uint64_t steps,
                            double noise_multiplier, double norm) {
  // A score is normal with mean mu for those in and 0 for those out.
  const double in_weights = std::sqrt(kFeature * kFeature / (kFeature * kFeature + 1));
  const double mu = in_weights * norm * std::sqrt(static_cast<double>(steps)) / noise_multiplier;
  const double share = static_cast<double>(guesses) / 2 / static_cast<double>(canaries);
  const auto above = [&](double score) { return (UpperTail(score - mu) + UpperTail(score)) / 2; };
  double low = -40, high = mu + 40;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (above(middle) > share ? low : high) = middle;
  }
  return UpperTail(low - mu) / 2 / above(low);
}

}  // namespace dpledger::canary_audit
