#include "examples/memorization/plain_training.h"

#include <algorithm>
#include <random>
#include <vector>

namespace dpledger::memorization {

void TrainWithoutPrivacy(const dp_sgd::TrainingPlan& plan, const examples::Dataset& data,
                         examples::Network& network, dp_sgd::TrainingState& state) {
  std::mt19937_64 random(1);
  std::bernoulli_distribution is_sampled(plan.probability());
  const auto rate = static_cast<float>(plan.learning_rate / plan.expected_batch_size);
  std::vector<float> gradient(network.parameter_count()), sum(network.parameter_count());
  for (; state.steps_done < plan.steps; ++state.steps_done) {
    std::fill(sum.begin(), sum.end(), 0.0f);
    for (const size_t row : plan.population) {
      if (!is_sampled(random) || row >= data.size()) continue;
      network.Gradient(state.parameters, data.row(row), data.labels[row], absl::MakeSpan(gradient));
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += gradient[i];
    }
    for (size_t i = 0; i < sum.size(); ++i) state.parameters[i] -= rate * sum[i];
  }
}

}  // namespace dpledger::memorization
