// DP-SGD (Abadi et al. 2016): sum of clipped per-example gradients of a Poisson sample, plus noise.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "client/event_recorder.h"
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

// Runs the plan on `state` until it is done or `stop` is set, which is looked at between steps.
// `after_step` hears of each step. On an error `state` is that of the last step that succeeded.
absl::Status Train(const TrainingPlan& plan, const examples::Dataset& data,
                   examples::Network& network, client::EventRecorder& recorder,
                   const std::atomic<bool>& stop,
                   const std::function<void(uint64_t steps_done)>& after_step,
                   TrainingState& state);

}  // namespace dpledger::dp_sgd
