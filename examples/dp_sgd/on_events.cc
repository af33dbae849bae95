#include "examples/dp_sgd/on_events.h"

#include <vector>

#include "absl/types/span.h"
#include "base/status.h"
#include "client/privatizer.h"
#include "client/sampler.h"

namespace dpledger::dp_sgd {
namespace {

// One step: what is released is a sum over the sample, divided by the *expected* batch size, for
// the real one is a secret.
absl::Status Step(const TrainingPlan& plan, const examples::Dataset& data,
                  examples::Network& network, client::Sampler& sampler,
                  client::Privatizer& privatizer, std::vector<float>& parameters) {
  // Gradients are handed over so many at a time, which is fastest (client/integer_clip.h).
  constexpr size_t kRowsTogether = 4;
  std::vector<float> gradients(kRowsTogether * parameters.size());
  size_t rows = 0;
  const auto hand_over = [&] {
    const size_t count = rows;
    rows = 0;
    return privatizer.Accumulate(client::GradientRows{gradients.data(), count});
  };

  ASSIGN_OR_RETURN(const auto sample, sampler.Draw());
  RETURN_IF_ERROR(privatizer.BeginStep(sampler));
  for (const uint64_t record : sample) {
    const size_t row = plan.population[record];
    if (row >= data.size()) continue;
    network.Gradient(
        parameters, data.row(row), data.labels[row],
        absl::MakeSpan(gradients).subspan(rows * parameters.size(), parameters.size()));
    if (++rows == kRowsTogether) RETURN_IF_ERROR(hand_over());
  }
  RETURN_IF_ERROR(hand_over());
  std::vector<float> noised_sum(parameters.size());
  RETURN_IF_ERROR(privatizer.Finish(absl::MakeSpan(noised_sum)));
  const auto rate = static_cast<float>(plan.learning_rate / plan.expected_batch_size);
  for (size_t i = 0; i < parameters.size(); ++i) parameters[i] -= rate * noised_sum[i];
  return absl::OkStatus();
}

}  // namespace

absl::Status TrainOnEvents(const TrainingPlan& plan, const examples::Dataset& data,
                           examples::Network& network, client::EventRecorder& recorder,
                           const std::atomic<bool>& stop, const AfterStep& after_step,
                           TrainingState& state) {
  client::PrivatizerOptions options;
  options.groups = {{"gradient", network.parameter_count(), plan.clip_norm}};
  options.noise_multiplier = plan.noise_multiplier;
  ASSIGN_OR_RETURN(const auto privatizer, client::Privatizer::Create(options, &recorder));
  ASSIGN_OR_RETURN(const auto sampler,
                   client::Sampler::Create(
                       {plan.population.size(), accountant::PoissonSampling{plan.probability()}}));
  while (state.steps_done < plan.steps && !stop) {
    RETURN_IF_ERROR(Step(plan, data, network, *sampler, *privatizer, state.parameters));
    after_step(++state.steps_done);
  }
  return absl::OkStatus();
}

}  // namespace dpledger::dp_sgd
