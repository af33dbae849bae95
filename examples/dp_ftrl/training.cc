#include "examples/dp_ftrl/training.h"

#include <cstring>
#include <filesystem>
#include <numeric>
#include <string_view>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status.h"

namespace dpledger::dp_ftrl {
namespace {

// As many as clipping is fastest with.
constexpr size_t kRows = 4;

// The records of the step that comes next.
absl::StatusOr<std::vector<uint64_t>> NextBatch(const TrainingPlan& plan, uint64_t step,
                                                CorrelatedPrivatizer& run) {
  if (!std::holds_alternative<std::monostate>(plan.sampling)) return run.DrawStep();
  ASSIGN_OR_RETURN(const RecordRange batch,
                   CyclicBatch(plan.population.size(), plan.batches_per_epoch, step));
  std::vector<uint64_t> records(batch.end - batch.begin);
  std::iota(records.begin(), records.end(), batch.begin);
  return records;
}

// The gradients of `records`.
absl::Status Accumulate(const TrainingPlan& plan, const examples::Dataset& data,
                        const std::vector<uint64_t>& records, const std::vector<float>& parameters,
                        examples::Network& network, std::vector<float>& gradients,
                        CorrelatedPrivatizer& run) {
  size_t rows = 0;
  for (const uint64_t& record : records) {
    const size_t row = plan.population[record];
    if (row < data.size()) {
      network.Gradient(
          parameters, data.row(row), data.labels[row],
          absl::MakeSpan(gradients).subspan(rows * parameters.size(), parameters.size()));
      ++rows;
    }
    if (rows == kRows || &record == &records.back()) {
      RETURN_IF_ERROR(run.Accumulate(GradientRows{gradients.data(), rows}));
      rows = 0;
    }
  }
  return absl::OkStatus();
}

std::string ModelPath(const Checkpoints& checkpoints, uint64_t steps) {
  return absl::StrCat(checkpoints.folder, "/model-", steps);
}

absl::Status LoadModel(const Checkpoints& checkpoints, uint64_t steps, TrainingState& state) {
  const std::string path = ModelPath(checkpoints, steps);
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
  const size_t size = state.parameters.size() * sizeof(float);
  if (bytes.size() != size) {
    return absl::DataLossError(
        absl::StrCat(path, ": must have ", size, " bytes, got ", bytes.size()));
  }
  std::memcpy(state.parameters.data(), bytes.data(), size);
  state.steps_done = steps;
  return absl::OkStatus();
}

// The model comes first: wherever this is cut off, there is the model of the run's last save.
absl::Status Keep(const Checkpoints& checkpoints, const TrainingState& state,
                  CorrelatedPrivatizer& run, uint64_t& kept) {
  RETURN_IF_ERROR(
      WriteFileDurably(ModelPath(checkpoints, state.steps_done),
                       std::string_view(reinterpret_cast<const char*>(state.parameters.data()),
                                        state.parameters.size() * sizeof(float))));
  RETURN_IF_ERROR(run.Save());
  if (kept != state.steps_done) std::filesystem::remove(ModelPath(checkpoints, kept));
  kept = state.steps_done;
  return absl::OkStatus();
}

}  // namespace

CorrelatedOptions TrainingPlan::Options(size_t parameters) const {
  CorrelatedOptions options;
  options.sums.groups = {{"gradient", parameters, clip_norm}};
  options.sums.noise_multiplier = noise_multiplier;
  options.steps = steps();
  options.encoder = encoder;
  options.sampling = sampling;
  if (std::holds_alternative<std::monostate>(sampling)) {
    options.max_participations = epochs;
    options.min_separation = batches_per_epoch;
  }
  return options;
}

BandedToeplitz SquareRoot(size_t band) {
  BandedToeplitz encoder{{1}};
  for (size_t j = 1; j < band; ++j) {
    const auto twice = static_cast<double>(2 * j);
    encoder.coefficients.push_back(encoder.coefficients.back() * (twice - 1) / twice);
  }
  return encoder;
}

absl::Status Train(const TrainingPlan& plan, const examples::Dataset& data,
                   examples::Network& network, const Recorder& recorder,
                   const std::optional<Checkpoints>& checkpoints, const std::atomic<bool>& stop,
                   TrainingState& state) {
  const size_t parameters = network.parameter_count();
  ASSIGN_OR_RETURN(const auto run,
                   CorrelatedPrivatizer::BeginRun(plan.Options(parameters), recorder.events()));
  uint64_t kept = run->steps_done();
  if (kept > 0 && checkpoints) RETURN_IF_ERROR(LoadModel(*checkpoints, kept, state));
  std::vector<float> gradients(kRows * parameters);
  const auto rate = static_cast<float>(plan.learning_rate / plan.batch_size());
  while (state.steps_done < plan.steps() && !stop) {
    ASSIGN_OR_RETURN(const std::vector<uint64_t> batch, NextBatch(plan, state.steps_done, *run));
    RETURN_IF_ERROR(Accumulate(plan, data, batch, state.parameters, network, gradients, *run));
    ASSIGN_OR_RETURN(const std::vector<float> sum, run->FinishStep());
    for (size_t i = 0; i < parameters; ++i) state.parameters[i] -= rate * sum[i];
    ++state.steps_done;
    if (checkpoints && state.steps_done - kept == checkpoints->every) {
      RETURN_IF_ERROR(Keep(*checkpoints, state, *run, kept));
    }
  }
  return checkpoints ? Keep(*checkpoints, state, *run, kept) : absl::OkStatus();
}

}  // namespace dpledger::dp_ftrl
