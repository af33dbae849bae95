// One step of each example trainer on two neighbouring data sets, with next to no noise: what it
// keeps may move by what the step's queries allow, and no more. tests/python/harness_test.py does
// the same for the loops in Python.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "examples/common/dataset.h"
#include "examples/common/network.h"
#include "examples/dp_fedavg/federated.h"
#include "examples/dp_ftrl/training.h"
#include "examples/dp_sgd/on_events.h"
#include "tests/cli/process.h"

namespace dpledger::testing {
namespace {

constexpr size_t kRecords = 40;
constexpr double kRate = 0.5;
constexpr double kClipNorm = 0.1;
constexpr double kNoise = 1.0 / 1024;  // of the clip norm: the least there is

// What a trainer keeps after one step on all records.
struct Kept {
  std::vector<float> parameters;
  double clip_norm = 0;  // of the next round, if it adapts
};
struct Step {
  examples::Dataset data;
  double clip_norm = 0;
  const Recorder* recorder = nullptr;
};
struct Trainer {
  std::string name;
  std::function<absl::StatusOr<Kept>(const Step&, examples::Network&)> train;
};

std::vector<size_t> AllRecords() {
  std::vector<size_t> all(kRecords);
  for (size_t i = 0; i < kRecords; ++i) all[i] = i;
  return all;
}

absl::StatusOr<Kept> DpSgd(const Step& step, examples::Network& network) {
  const dp_sgd::TrainingPlan plan{.population = AllRecords(),
                                  .expected_batch_size = kRecords,
                                  .steps = 1,
                                  .clip_norm = step.clip_norm,
                                  .noise_multiplier = kNoise,
                                  .learning_rate = kRate};
  dp_sgd::TrainingState state{.parameters = network.InitialParameters(1)};
  const std::atomic<bool> stop = false;
  RETURN_IF_ERROR(dp_sgd::TrainOnEvents(
      plan, step.data, network, *step.recorder->events(), stop, [](uint64_t) {}, state));
  return Kept{state.parameters};
}

absl::StatusOr<Kept> DpFtrl(const Step& step, examples::Network& network) {
  const dp_ftrl::TrainingPlan plan{.population = AllRecords(),
                                   .batches_per_epoch = 1,
                                   .epochs = 1,
                                   .clip_norm = step.clip_norm,
                                   .noise_multiplier = kNoise,
                                   .encoder = dp_ftrl::SquareRoot(1),
                                   .learning_rate = kRate};
  dp_ftrl::TrainingState state{.parameters = network.InitialParameters(1)};
  const std::atomic<bool> stop = false;
  RETURN_IF_ERROR(
      dp_ftrl::Train(plan, step.data, network, *step.recorder, std::nullopt, stop, state));
  return Kept{state.parameters};
}

absl::StatusOr<Kept> FedAvg(const Step& step, examples::Network& network,
                            std::optional<AdaptiveClipNorm> adaptive) {
  dp_fedavg::FederatedPlan plan{.users = std::vector<std::vector<size_t>>(kRecords),
                                .expected_users = kRecords,
                                .rounds = 1,
                                .noise_multiplier = kNoise,
                                .clip_norm = step.clip_norm,
                                .adaptive = std::move(adaptive),
                                .local_learning_rate = 0.3,
                                .server_learning_rate = kRate};
  for (size_t row = 0; row < step.data.size(); ++row) plan.users[row] = {row};
  dp_fedavg::FederatedState state{.parameters = network.InitialParameters(1)};
  const std::atomic<bool> stop = false;
  RETURN_IF_ERROR(dp_fedavg::Train(plan, step.data, network, *step.recorder, stop, state));
  return Kept{state.parameters, state.clip_norm};
}

constexpr double kQuantileRate = 0.2;

std::vector<Trainer> Trainers() {
  return {
      {"dp_sgd", DpSgd},
      {"dp_ftrl", DpFtrl},
      {"dp_fedavg", [](const Step& step,
                       examples::Network& network) { return FedAvg(step, network, std::nullopt); }},
      {"adaptive", [](const Step& step, examples::Network& network) {
         return FedAvg(
             step, network,
             AdaptiveClipNorm{.rule = NormQuantile{.quantile = 0.5, .learning_rate = kQuantileRate},
                              .noise_multiplier = 2 * kNoise,
                              .expected_batch_size = kRecords});
       }}};
}

class Sensitivity : public ::testing::Test {
 protected:
  absl::StatusOr<Kept> After(const Trainer& trainer, const examples::Dataset& data,
                             double clip_norm) {
    RecorderOptions options{.path = folder_.File(absl::StrCat("ledgers", ++runs_)),
                            .ledger = "run"};
    options.declaration = {.dataset = "records",
                           .unit_of_privacy = "record",
                           .adjacency = Adjacency::kZeroOut,
                           .parameters = Parameters::kFixed};
    ASSIGN_OR_RETURN(const auto recorder, Recorder::Open(options));
    examples::Network network(data.feature_count, 5, static_cast<size_t>(data.class_count));
    return trainer.train({.data = data, .clip_norm = clip_norm, .recorder = recorder.get()},
                         network);
  }
  static double Distance(const Kept& one, const Kept& other) {
    double squares = 0;
    for (size_t i = 0; i < one.parameters.size(); ++i) {
      squares += std::pow(double{one.parameters[i]} - double{other.parameters[i]}, 2);
    }
    return std::sqrt(squares);
  }

  TemporaryFolder folder_;
  int runs_ = 0;
};

// All records but the last, and all, whose last is an outlier or nothing unusual.
examples::Dataset Data(bool with_last, float scale) {
  examples::Dataset data = examples::MakeSynthetic(kRecords);
  for (size_t i = 0; i < data.feature_count; ++i) {
    data.features[(kRecords - 1) * data.feature_count + i] *= scale;
  }
  if (!with_last) {
    data.features.resize((kRecords - 1) * data.feature_count);
    data.labels.pop_back();
  }
  return data;
}

TEST_F(Sensitivity, OneRecordMovesWhatIsKeptByItsClippedShare) {
  const double allowed = kRate / kRecords * kClipNorm;
  for (const Trainer& trainer : Trainers()) {
    const auto without = After(trainer, Data(false, 1), kClipNorm);
    ASSERT_TRUE(without.ok()) << trainer.name << ": " << without.status();
    double most = 0;
    for (const float scale : {1.0f, 1e3f, 1e6f}) {
      SCOPED_TRACE(absl::StrCat(trainer.name, ", scale ", scale));
      const auto with = After(trainer, Data(true, scale), kClipNorm);
      ASSERT_TRUE(with.ok()) << with.status();
      EXPECT_LE(Distance(*with, *without), allowed * 1.01);
      most = std::max(most, Distance(*with, *without));
      if (without->clip_norm > 0) {
        EXPECT_LE(std::abs(std::log(with->clip_norm / without->clip_norm)),
                  kQuantileRate / kRecords * 1.02);
      }
    }
    EXPECT_GE(most, allowed * 0.9) << trainer.name << ": the record is in no sum";
  }
}

// The control: a trainer that does not clip is found out.
TEST_F(Sensitivity, ControlWithoutClipping) {
  const double allowed = kRate / kRecords * kClipNorm;
  for (const Trainer& trainer : Trainers()) {
    const auto without = After(trainer, Data(false, 1), 1e6);
    const auto with = After(trainer, Data(true, 1e3f), 1e6);
    ASSERT_TRUE(without.ok() && with.ok()) << without.status() << with.status();
    EXPECT_GT(Distance(*with, *without), allowed * 1.01) << trainer.name;
  }
}

}  // namespace
}  // namespace dpledger::testing
