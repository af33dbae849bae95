// DP-FTRL (Kairouz et al. 2021): noise that is correlated from step to step, and epochs over the
// records in one fixed order, or records that the run draws.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "dpledger/client.h"
#include "examples/common/dataset.h"
#include "examples/common/network.h"

namespace dpledger::dp_ftrl {

struct TrainingPlan {
  // The training population: which row of the data each record is. Declared, so rows at or beyond
  // the data's end are records that are not there, and contribute nothing.
  std::vector<size_t> population;
  uint64_t batches_per_epoch = 0;  // in [1, population.size()]
  uint64_t epochs = 0;
  double clip_norm = 0;
  double noise_multiplier = 0;  // of a message
  decltype(CorrelatedOptions::encoder) encoder;
  decltype(CorrelatedOptions::sampling) sampling;  // none: a fixed order
  double learning_rate = 0;

  uint64_t steps() const { return epochs * batches_per_epoch; }
  double batch_size() const {
    return static_cast<double>(population.size()) / static_cast<double>(batches_per_epoch);
  }
  // Without a sampling every record is in one step of each epoch, the same one.
  CorrelatedOptions Options(size_t parameters) const;
};

// c_0 to c_{band - 1} of the square root of the matrix of prefix sums (Fichtenberger, Henzinger and
// Upadhyay 2023).
BandedToeplitz SquareRoot(size_t band);

struct TrainingState {
  std::vector<float> parameters;
  uint64_t steps_done = 0;
};

// Where the model is kept beside what the recorder's state keeps of the run, and how often.
struct Checkpoints {
  std::string folder;
  uint64_t every = 1;  // steps, > 0
};

// Runs the plan on `state` until it is done or `stop` is set, which is looked at between steps. On
// an error `state` is that of the last step that succeeded. With checkpoints, for a recorder that
// has a state: first goes on where a killed process left off, and keeps where it stands at its end.
// The steps that were released since the last checkpoint come out the same again, for the gradients
// depend on model and records alone.
absl::Status Train(const TrainingPlan& plan, const examples::Dataset& data,
                   examples::Network& network, const Recorder& recorder,
                   const std::optional<Checkpoints>& checkpoints, const std::atomic<bool>& stop,
                   TrainingState& state);

}  // namespace dpledger::dp_ftrl
