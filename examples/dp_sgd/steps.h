// DP-SGD (Abadi et al. 2016): sum of clipped per-example gradients of a Poisson sample, plus noise.
// Its plan and its loop, without the way to a ledger.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "base/status.h"
#include "examples/common/dataset.h"
#include "examples/common/network.h"

namespace dpledger::dp_sgd {

struct TrainingPlan {
  // The training population: which row of the data each record is. Declared, so rows at or beyond
  // the data's end are records that are not there, and contribute nothing.
  std::vector<size_t> population;
  double expected_batch_size =
      0;  // in (0, population.size()]; the sampling probability is their ratio
  uint64_t steps = 0;
  double clip_norm = 0;
  double noise_multiplier = 0;
  double learning_rate = 0;

  double probability() const {
    return expected_batch_size / static_cast<double>(population.size());
  }
};

struct TrainingState {
  std::vector<float> parameters;
  uint64_t steps_done = 0;
};

// Who hears of each step.
using AfterStep = std::function<void(uint64_t steps_done)>;

// One step: what is released is a sum over the sample, divided by the *expected* batch size, for
// the real one is a secret. Sampler and Privatizer are those of dpledger/client.h, or act alike.
template <typename Sampler, typename Privatizer>
absl::Status Step(const TrainingPlan& plan, const examples::Dataset& data,
                  examples::Network& network, Sampler& sampler, Privatizer& privatizer,
                  std::vector<float>& parameters) {
  // Gradients are handed over so many at a time, which is fastest (client/integer_clip.h).
  constexpr size_t kRowsTogether = 4;
  std::vector<float> gradients(kRowsTogether * parameters.size());
  size_t rows = 0;
  const auto hand_over = [&] {
    const size_t count = rows;
    rows = 0;
    return privatizer.Accumulate({gradients.data(), count});
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

// Runs the plan on `state` until it is done or `stop` is set, which is looked at between steps. On
// an error `state` is that of the last step that succeeded.
template <typename Sampler, typename Privatizer>
absl::Status RunSteps(const TrainingPlan& plan, const examples::Dataset& data,
                      examples::Network& network, Sampler& sampler, Privatizer& privatizer,
                      const std::atomic<bool>& stop, const AfterStep& after_step,
                      TrainingState& state) {
  while (state.steps_done < plan.steps && !stop) {
    RETURN_IF_ERROR(Step(plan, data, network, sampler, privatizer, state.parameters));
    after_step(++state.steps_done);
  }
  return absl::OkStatus();
}

}  // namespace dpledger::dp_sgd
