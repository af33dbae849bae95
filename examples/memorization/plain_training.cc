#include "examples/memorization/plain_training.h"

#include <algorithm>
#include <vector>

#include "base/status.h"
#include "client/poisson_sampler.h"

namespace dpledger::memorization {

absl::Status TrainWithoutPrivacy(const dp_sgd::TrainingPlan& plan, const examples::Dataset& data,
                                 examples::Network& network, dp_sgd::TrainingState& state) {
  ASSIGN_OR_RETURN(const auto sampler,
                   client::PoissonSampler::Create({plan.population.size(), plan.probability()}));
  const auto rate = static_cast<float>(plan.learning_rate / plan.expected_batch_size);
  std::vector<float> gradient(network.parameter_count()), sum(network.parameter_count());
  for (; state.steps_done < plan.steps; ++state.steps_done) {
    ASSIGN_OR_RETURN(const std::vector<uint64_t> sample, sampler->Draw());
    std::fill(sum.begin(), sum.end(), 0.0f);
    for (const uint64_t record : sample) {
      const size_t row = plan.population[record];
      if (row >= data.size()) continue;
      network.Gradient(state.parameters, data.row(row), data.labels[row], absl::MakeSpan(gradient));
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += gradient[i];
    }
    for (size_t i = 0; i < sum.size(); ++i) state.parameters[i] -= rate * sum[i];
  }
  return absl::OkStatus();
}

}  // namespace dpledger::memorization
