#include "examples/dp_sgd/training.h"

#include <memory>

#include "base/status.h"
#include "client/poisson_sampler.h"
#include "client/privatizer.h"

namespace dpledger::dp_sgd {
namespace {

// Gradients are handed over so many at a time, which is fastest (client/integer_clip.h).
constexpr size_t kRowsTogether = 4;

// One step: what is released is a sum over the sample, divided by the *expected* batch size, for
// the real one is a secret.
absl::Status Step(const TrainingPlan& plan, const examples::Dataset& data,
                  examples::Network& network, client::PoissonSampler& sampler,
                  client::Privatizer& privatizer, std::vector<float>& parameters) {
  std::vector<float> gradients(kRowsTogether * parameters.size());
  size_t rows = 0;
  const auto hand_over = [&] {
    const auto whole = absl::MakeConstSpan(gradients).first(rows * parameters.size());
    rows = 0;
    return privatizer.Accumulate(whole);
  };

  RETURN_IF_ERROR(privatizer.BeginStep(sampler.scheme()));
  ASSIGN_OR_RETURN(const std::vector<uint64_t> sample, sampler.Draw());
  for (const uint64_t record : sample) {
    const size_t row = plan.population[record];
    if (row >= data.size()) continue;
    network.Gradient(
        parameters, data.row(row), data.labels[row],
        absl::MakeSpan(gradients).subspan(rows * parameters.size(), parameters.size()));
    if (++rows == kRowsTogether) RETURN_IF_ERROR(hand_over());
  }
  RETURN_IF_ERROR(hand_over());
  ASSIGN_OR_RETURN(const std::vector<float> noised_sum, privatizer.Finish());
  const auto rate = static_cast<float>(plan.learning_rate / plan.expected_batch_size);
  for (size_t i = 0; i < parameters.size(); ++i) parameters[i] -= rate * noised_sum[i];
  return absl::OkStatus();
}

}  // namespace

absl::Status Train(const TrainingPlan& plan, const examples::Dataset& data,
                   examples::Network& network, client::EventRecorder& recorder,
                   const std::atomic<bool>& stop,
                   const std::function<void(uint64_t steps_done)>& after_step,
                   TrainingState& state) {
  client::PrivatizerOptions options;
  options.groups = {{"gradient", network.parameter_count(), plan.clip_norm}};
  options.noise_multiplier = plan.noise_multiplier;
  ASSIGN_OR_RETURN(const auto privatizer, client::Privatizer::Create(options, &recorder));
  ASSIGN_OR_RETURN(const auto sampler,
                   client::PoissonSampler::Create({plan.population.size(), plan.probability()}));
  while (state.steps_done < plan.steps && !stop) {
    RETURN_IF_ERROR(Step(plan, data, network, *sampler, *privatizer, state.parameters));
    after_step(++state.steps_done);
  }
  return absl::OkStatus();
}

}  // namespace dpledger::dp_sgd
