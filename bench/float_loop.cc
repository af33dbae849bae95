#include "bench/float_loop.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace dpledger::bench {

void TrainByFloatLoop(const dp_sgd::TrainingPlan& plan, const examples::Dataset& data,
                      examples::Network& network, std::vector<float>& parameters) {
  std::mt19937_64 random(2);
  std::normal_distribution<float> normal(
      0, static_cast<float>(plan.noise_multiplier * plan.clip_norm));
  const auto rate = static_cast<float>(plan.learning_rate / plan.expected_batch_size);
  std::vector<float> gradient(parameters.size()), sum(parameters.size());
  for (uint64_t step = 0; step < plan.steps; ++step) {
    std::fill(sum.begin(), sum.end(), 0.0f);
    for (const size_t row : plan.population) {
      network.Gradient(parameters, data.row(row), data.labels[row], absl::MakeSpan(gradient));
      float square = 0;
      for (const float value : gradient) square += value * value;
      const float scale =
          std::min(1.0f, static_cast<float>(plan.clip_norm) / (std::sqrt(square) + 1e-6f));
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += scale * gradient[i];
    }
    for (size_t i = 0; i < sum.size(); ++i) parameters[i] -= rate * (sum[i] + normal(random));
  }
}

}  // namespace dpledger::bench
