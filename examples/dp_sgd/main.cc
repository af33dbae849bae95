// A complete DP-SGD trainer on dpledger's client: reads data, asks the server how much noise it
// needs, trains with every round in the ledger before its noise is released, and reports. The
// network has no batch normalisation: a record's gradient must depend on that record alone.
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status.h"
#include "examples/common/dataset.h"
#include "examples/common/input.h"
#include "examples/common/network.h"
#include "examples/common/program.h"
#include "examples/common/run_flags.h"
#include "examples/common/run_recorder.h"
#include "examples/dp_sgd/on_events.h"

namespace dpledger::dp_sgd {
namespace {

using examples::AddNumber;
using examples::Input;
using examples::Network;
using examples::stop;

constexpr char kAbout[] =
    R"(Trains a classifier with differential privacy (DP-SGD) and keeps its privacy ledger.

Examples:
  dp_sgd --server 127.0.0.1:7070 --ledger try --target-epsilon 1
      trains on a small made-up data set
  dp_sgd --server 127.0.0.1:7070 --ledger adult --target-epsilon 1 --delta 1e-5 \
      --data adult.data --schema examples/dp_sgd/adult_schema.json
      UCI Adult, with the noise calibrated by the server
  dp_sgd --server 127.0.0.1:7070 --ledger digits --noise-multiplier 1.1 --model mlp \
      --idx-images train-images-idx3-ubyte --idx-labels train-labels-idx1-ubyte \
      --population 60000
)";

constexpr double kMostSteps = 1e9;

struct Flags : examples::TrainingFlags {
  std::string model = "logistic";
  uint64_t hidden = 0;  // 0: the linear model
  uint64_t steps = 0;   // 0: epochs
  double epochs = 10;
  double batch_size = 256;
  uint64_t seed = 1;

  void AddTo(flags::App& app);
  void Check();
};

void Flags::AddTo(flags::App& app) {
  AddTrainingTo(app);
  app.add_option("--model", model, "logistic or mlp (one hidden layer)")
      ->check(flags::IsMember({"logistic", "mlp"}))
      ->capture_default_str();
  app.add_option("--hidden", hidden, "hidden units of the mlp [32]")
      ->check(examples::Between(1, 100000));
  auto* of_epochs =
      AddNumber(app, "--epochs", epochs, 1e-6, 1e6, "passes over the data, in expectation");
  app.add_option("--steps", steps, "rounds, instead of --epochs")
      ->check(examples::Between(1, 1000000000))
      ->excludes(of_epochs);
  AddNumber(app, "--batch-size", batch_size, 1e-6, 1e12,
            "expected; divided by the population it is the sampling probability");
  app.add_option("--seed", seed, "of the mlp's initial weights (public)")->capture_default_str();
  RunFlags::AddTo(app);
}

void Flags::Check() {
  RunFlags::Check();
  if (model == "logistic" && hidden > 0) {
    throw flags::ValidationError("--hidden", "is for --model mlp");
  }
  if (model == "mlp" && hidden == 0) hidden = 32;
}

absl::StatusOr<TrainingPlan> MakePlan(const Flags& flags, const Input& input) {
  TrainingPlan plan;
  plan.population = examples::SplitRecords(input.population, flags.test_fraction).training;
  const auto records = static_cast<double>(plan.population.size());
  if (!(flags.batch_size <= records)) {
    return FieldError("--batch-size", absl::StrCat("must be at most the training population, ",
                                                   records, ", got ", flags.batch_size));
  }
  const double epoch_steps = std::ceil(flags.epochs * records / flags.batch_size);
  if (flags.steps == 0 && !(epoch_steps <= kMostSteps)) {
    return FieldError("--epochs",
                      absl::StrCat("must make at most ", kMostSteps, " steps, got ", epoch_steps));
  }
  plan.expected_batch_size = flags.batch_size;
  plan.steps = flags.steps > 0 ? flags.steps : static_cast<uint64_t>(epoch_steps);
  plan.clip_norm = flags.clip_norm;
  plan.learning_rate = flags.learning_rate;
  ASSIGN_OR_RETURN(plan.noise_multiplier,
                   examples::NoiseMultiplier(flags, plan.probability(), plan.steps));
  return plan;
}

Declaration Declare(const Flags& flags, const Input& input, const TrainingPlan& plan,
                    size_t parameters) {
  return {.dataset = input.name,
          .unit_of_privacy = "example",
          .adjacency = Adjacency::kAddOrRemoveOne,
          .planned_rounds = plan.steps,
          .plan_independent = flags.plan_independent,
          .description = absl::StrFormat(
              "DP-SGD, %s, %d parameters, learning rate %g, clip norm %g, expected batch size %g",
              flags.hidden > 0 ? "one hidden layer" : "multinomial logistic regression", parameters,
              plan.learning_rate, plan.clip_norm, plan.expected_batch_size)};
}

void PrintAccuracy(const Input& input, const TrainingPlan& plan, double test_fraction,
                   Network& network, const TrainingState& state) {
  const auto [training, held_out] =
      examples::SplitRecords(std::min<size_t>(input.population, input.data.size()), test_fraction);
  // Computed from the data without noise: publishing them is a release of its own.
  absl::PrintF("training accuracy  %.4f on %d records, NOT covered by epsilon\n",
               network.Accuracy(state.parameters, input.data, training), training.size());
  absl::PrintF("held-out accuracy  %.4f on %d records, NOT covered by epsilon\n",
               network.Accuracy(state.parameters, input.data, held_out), held_out.size());
  absl::PrintF("steps              %d of %d\n", state.steps_done, plan.steps);
}

absl::StatusOr<int> Run(const Flags& flags) {
  ASSIGN_OR_RETURN(const Input input, examples::ReadInput(flags.input, examples::Size::kSecret));
  ASSIGN_OR_RETURN(const TrainingPlan plan, MakePlan(flags, input));
  Network network(input.data.feature_count, flags.hidden,
                  static_cast<size_t>(input.data.class_count));
  ASSIGN_OR_RETURN(
      const auto recorder,
      examples::OpenRecorder(flags, Declare(flags, input, plan, network.parameter_count())));
  examples::StopOnInterrupt();
  absl::PrintF("data set           %s, %d training records, %d features\n", input.name,
               plan.population.size(), input.data.feature_count);
  absl::PrintF("noise multiplier   %.6f%s, sampling probability %.6g, %d steps\n",
               plan.noise_multiplier, flags.noise_multiplier ? "" : " (calibrated by the server)",
               plan.probability(), plan.steps);
  std::fflush(stdout);
  const bool show_progress = isatty(STDERR_FILENO) != 0;
  TrainingState state{network.InitialParameters(flags.seed)};
  const absl::Status trained = TrainOnEvents(
      plan, input.data, network, *recorder->events(), stop,
      [&](uint64_t done) {
        if (show_progress) {
          absl::FPrintF(stderr, "\rstep %d of %d ", done, plan.steps);
        }
      },
      state);
  if (show_progress) absl::FPrintF(stderr, "\r\033[K");
  if (!trained.ok()) {
    absl::FPrintF(stderr,
                  "training ended after %d of %d steps; every released one was acknowledged by "
                  "the server or is in %s\n",
                  state.steps_done, plan.steps, flags.spool);
    return trained;
  }
  if (stop) {
    absl::FPrintF(
        stderr,
        "stopped after %d of %d steps; closing this writer's part of the ledger (Ctrl-C again "
        "leaves what is not delivered in %s)\n",
        state.steps_done, plan.steps, flags.spool);
  }
  PrintAccuracy(input, plan, flags.test_fraction, network, state);
  return examples::EndRun(*recorder, flags.delta);
}

}  // namespace
}  // namespace dpledger::dp_sgd

int main(int argc, char** argv) {
  using namespace dpledger::dp_sgd;
  return dpledger::examples::Main<Flags>(argc, argv, "dp_sgd", kAbout, Run);
}
