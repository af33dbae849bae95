// DP-FTRL (Kairouz et al. 2021): epochs over the records in one fixed order, without sampling, and
// noise that is correlated from step to step.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "client/correlated_options.h"
#include "client/event_recorder.h"
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
  std::variant<client::TreeAggregation, client::BandedToeplitz, client::BufferedToeplitz> encoder;
  double learning_rate = 0;

  uint64_t steps() const { return epochs * batches_per_epoch; }
  double batch_size() const {
    return static_cast<double>(population.size()) / static_cast<double>(batches_per_epoch);
  }
  // Every record is in one step of each epoch, the same one.
  client::CorrelatedOptions Options(size_t parameters) const;
};

// c_0 to c_{band - 1} of the square root of the matrix of prefix sums (Fichtenberger, Henzinger and
// Upadhyay 2023).
client::BandedToeplitz SquareRoot(size_t band);

struct TrainingState {
  std::vector<float> parameters;
  uint64_t steps_done = 0;
};

// Runs the plan on `state` until it is done or `stop` is set, which is looked at between steps. On
// an error `state` is that of the last step that succeeded.
absl::Status Train(const TrainingPlan& plan, const examples::Dataset& data,
                   examples::Network& network, client::EventRecorder& recorder,
                   const std::atomic<bool>& stop, TrainingState& state);

}  // namespace dpledger::dp_ftrl
