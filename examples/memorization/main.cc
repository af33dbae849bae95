// The memorisation test: trains on labels drawn at random, without privacy and with it, and says
// how many of them each model knows. What is right more often than by chance is known by heart.
#include <atomic>
#include <cstdio>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status.h"
#include "examples/common/input.h"
#include "examples/common/network.h"
#include "examples/common/program.h"
#include "examples/common/run_flags.h"
#include "examples/common/run_recorder.h"
#include "examples/dp_sgd/on_events.h"
#include "examples/memorization/plain_training.h"
#include "examples/memorization/random_labels.h"
#include "flags/app.h"

namespace dpledger::memorization {
namespace {

constexpr char kAbout[] =
    R"(Trains a network with one hidden layer twice on labels drawn at random, without privacy and with it, and
compares how many labels each knows by heart. The private run keeps its ledger on the server.

Examples:
  memorization --server 127.0.0.1:7070 --ledger by-heart --target-epsilon 1
      200 made-up records
  memorization --server 127.0.0.1:7070 --ledger by-heart --target-epsilon 1 --population 2000 \
      --data adult.data --schema examples/dp_sgd/adult_schema.json
)";

constexpr uint64_t kSyntheticPopulation = 200;

struct Flags : examples::RunFlags {
  examples::DataFlags input;
  uint64_t hidden = 128, steps = 1000, seed = 1;
  double batch_size = 100, clip_norm = 1, learning_rate = 2;

  void AddTo(flags::App& app);
};

void Flags::AddTo(flags::App& app) {
  using examples::AddNumber;
  examples::AddDataFlags(app, input);
  AddNumber(app, "--hidden", hidden, 1, 100000, "hidden units");
  AddNumber(app, "--steps", steps, 1, 1e9, "of each run");
  AddNumber(app, "--batch-size", batch_size, 1e-6, 1e12, "expected");
  AddNumber(app, "--clip-norm", clip_norm, 1e-30, 1e30, "of the private run");
  AddNumber(app, "--learning-rate", learning_rate, 1e-9, 1e9, "of plain SGD, in both runs");
  app.add_option("--seed", seed, "of the labels and the initial weights")->capture_default_str();
  RunFlags::AddTo(app);
}

Declaration Declare(const Flags& flags, const std::string& dataset) {
  return {.dataset = dataset,
          .unit_of_privacy = "example",
          .adjacency = Adjacency::kAddOrRemoveOne,
          .planned_rounds = flags.steps,
          .description = "memorisation test on labels drawn at random"};
}

class Trial {
 public:
  Trial(const Flags& flags, examples::Input input)
      : input_(std::move(input)),
        network_(input_.data.feature_count, flags.hidden,
                 static_cast<size_t>(input_.data.class_count)),
        initial_(network_.InitialParameters(flags.seed)) {
    DrawRandomLabels(flags.seed, input_.data);
    for (size_t row = 0; row < input_.population; ++row) plan_.population.push_back(row);
    plan_.expected_batch_size = flags.batch_size;
    plan_.steps = flags.steps;
    plan_.clip_norm = flags.clip_norm;
    plan_.learning_rate = flags.learning_rate;
  }

  void WithoutPrivacy() {
    dp_sgd::TrainingState state{initial_};
    TrainWithoutPrivacy(plan_, input_.data, network_, state);
    PrintAccuracy("without privacy", state);
    absl::PrintF("                   no clipping, no noise, no epsilon\n");
  }

  absl::Status WithPrivacy(const Flags& flags) {
    ASSIGN_OR_RETURN(plan_.noise_multiplier,
                     examples::NoiseMultiplier(flags, plan_.probability(), plan_.steps));
    ASSIGN_OR_RETURN(const auto recorder,
                     examples::OpenRecorder(flags, Declare(flags, input_.name)));
    dp_sgd::TrainingState state{initial_};
    const std::atomic<bool> stop = false;
    RETURN_IF_ERROR(dp_sgd::TrainOnEvents(
        plan_, input_.data, network_, *recorder->events(), stop, [](uint64_t) {}, state));
    RETURN_IF_ERROR(recorder->Close());
    PrintAccuracy("with privacy", state);
    ASSIGN_OR_RETURN(const Cost cost, recorder->ComputeCost(flags.delta));
    absl::PrintF("                   noise multiplier %.6f, epsilon [%.6f, %.6f] at delta %g\n",
                 plan_.noise_multiplier, cost.epsilon.lower, cost.epsilon.upper, flags.delta);
    return absl::OkStatus();
  }

  void PrintData() {
    absl::PrintF("data set           %s, %d records, labels drawn at random from %d classes\n",
                 input_.name, Records(), input_.data.class_count);
    absl::PrintF("chance             %.4f\n", 1.0 / input_.data.class_count);
  }

 private:
  size_t Records() const { return std::min<size_t>(input_.population, input_.data.size()); }
  void PrintAccuracy(const char* name, const dp_sgd::TrainingState& state) {
    std::vector<size_t> rows;
    for (size_t row = 0; row < Records(); ++row) rows.push_back(row);
    const double accuracy = network_.Accuracy(state.parameters, input_.data, rows);
    absl::PrintF("%-18s training accuracy %.4f, %+.1f standard deviations from chance\n", name,
                 accuracy, DeviationsAboveChance(accuracy, rows.size(), input_.data.class_count));
    std::fflush(stdout);
  }

  examples::Input input_;
  examples::Network network_;
  const std::vector<float> initial_;
  dp_sgd::TrainingPlan plan_;
};

absl::StatusOr<int> Run(const Flags& flags) {
  examples::DataFlags data = flags.input;
  if (data.data.empty() && data.idx_images.empty() && data.population == 0) {
    data.population = kSyntheticPopulation;
  }
  ASSIGN_OR_RETURN(examples::Input input, examples::ReadInput(data, examples::Size::kSecret));
  const auto records = static_cast<double>(input.population);
  if (!(flags.batch_size <= records)) {
    return FieldError("--batch-size", absl::StrCat("must be at most the population, ", records,
                                                   ", got ", flags.batch_size));
  }
  Trial trial(flags, std::move(input));
  trial.PrintData();
  trial.WithoutPrivacy();
  RETURN_IF_ERROR(trial.WithPrivacy(flags));
  return 0;
}

}  // namespace
}  // namespace dpledger::memorization

int main(int argc, char** argv) {
  using namespace dpledger::memorization;
  return dpledger::examples::Main<Flags>(argc, argv, "memorization", kAbout, Run);
}
