// The plan and the state of DP-SGD (Abadi et al. 2016): sum of clipped per-example gradients of a
// Poisson sample, plus noise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

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

}  // namespace dpledger::dp_sgd
