#include "examples/dp_ftrl/training.h"

#include <algorithm>

#include "base/status.h"
#include "client/correlated_privatizer.h"

namespace dpledger::dp_ftrl {
namespace {

// As many as clipping is fastest with.
constexpr size_t kRows = 4;

// The gradients of the records `begin` to `end`.
absl::Status Accumulate(const TrainingPlan& plan, const examples::Dataset& data, uint64_t begin,
                        uint64_t end, const std::vector<float>& parameters,
                        examples::Network& network, std::vector<float>& gradients,
                        client::CorrelatedPrivatizer& privatizer) {
  size_t rows = 0;
  for (uint64_t record = begin; record < end; ++record) {
    const size_t row = plan.population[record];
    if (row < data.size()) {
      network.Gradient(
          parameters, data.row(row), data.labels[row],
          absl::MakeSpan(gradients).subspan(rows * parameters.size(), parameters.size()));
      ++rows;
    }
    if (rows == kRows || record + 1 == end) {
      RETURN_IF_ERROR(
          privatizer.Accumulate(absl::MakeConstSpan(gradients).first(rows * parameters.size())));
      rows = 0;
    }
  }
  return absl::OkStatus();
}

}  // namespace

client::CorrelatedOptions TrainingPlan::Options(size_t parameters) const {
  client::CorrelatedOptions options;
  options.sums.groups = {{"gradient", parameters, clip_norm}};
  options.sums.noise_multiplier = noise_multiplier;
  options.steps = steps();
  options.max_participations = epochs;
  options.min_separation = batches_per_epoch;
  options.encoder = encoder;
  return options;
}

client::BandedToeplitz SquareRoot(size_t band) {
  client::BandedToeplitz encoder{{1}};
  for (size_t j = 1; j < band; ++j) {
    const auto twice = static_cast<double>(2 * j);
    encoder.coefficients.push_back(encoder.coefficients.back() * (twice - 1) / twice);
  }
  return encoder;
}

absl::Status Train(const TrainingPlan& plan, const examples::Dataset& data,
                   examples::Network& network, client::EventRecorder& recorder,
                   const std::atomic<bool>& stop, TrainingState& state) {
  const size_t parameters = network.parameter_count();
  ASSIGN_OR_RETURN(const auto privatizer,
                   client::CorrelatedPrivatizer::BeginRun(plan.Options(parameters), &recorder));
  std::vector<float> gradients(kRows * parameters);
  const auto rate = static_cast<float>(plan.learning_rate / plan.batch_size());
  while (state.steps_done < plan.steps() && !stop) {
    const uint64_t batch = state.steps_done % plan.batches_per_epoch;
    const auto end_of = [&](uint64_t batches) {
      return batches * plan.population.size() / plan.batches_per_epoch;
    };
    RETURN_IF_ERROR(Accumulate(plan, data, end_of(batch), end_of(batch + 1), state.parameters,
                               network, gradients, *privatizer));
    ASSIGN_OR_RETURN(const std::vector<float> sum, privatizer->FinishStep());
    for (size_t i = 0; i < parameters; ++i) state.parameters[i] -= rate * sum[i];
    ++state.steps_done;
  }
  return absl::OkStatus();
}

}  // namespace dpledger::dp_ftrl
