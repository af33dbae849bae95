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
#include "examples/common/run_recorder.h"
#include "examples/dp_sgd/flags.h"
#include "examples/dp_sgd/on_events.h"

namespace dpledger::dp_sgd {
namespace {

using examples::Input;
using examples::Network;
using examples::stop;

constexpr double kMostSteps = 1e9;

absl::StatusOr<TrainingPlan> MakePlan(const Flags& flags, const Input& input) {
  TrainingPlan plan;
  for (size_t row = 0; row < input.population; ++row) {
    if (!examples::IsHeldOut(row, flags.test_fraction)) plan.population.push_back(row);
  }
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
  std::vector<size_t> training, held_out;
  for (size_t row = 0; row < std::min<size_t>(input.population, input.data.size()); ++row) {
    (examples::IsHeldOut(row, test_fraction) ? held_out : training).push_back(row);
  }
  // Computed from the data without noise: publishing them is a release of its own.
  std::printf("training accuracy  %.4f on %zu records, NOT covered by epsilon\n",
              network.Accuracy(state.parameters, input.data, training), training.size());
  std::printf("held-out accuracy  %.4f on %zu records, NOT covered by epsilon\n",
              network.Accuracy(state.parameters, input.data, held_out), held_out.size());
  std::printf("steps              %llu of %llu\n",
              static_cast<unsigned long long>(state.steps_done),
              static_cast<unsigned long long>(plan.steps));
}

absl::StatusOr<int> Run(const Flags& flags) {
  ASSIGN_OR_RETURN(const Input input, examples::ReadInput(flags.input));
  ASSIGN_OR_RETURN(const TrainingPlan plan, MakePlan(flags, input));
  Network network(input.data.feature_count, flags.hidden,
                  static_cast<size_t>(input.data.class_count));
  ASSIGN_OR_RETURN(
      const auto recorder,
      examples::OpenRecorder(flags, Declare(flags, input, plan, network.parameter_count())));
  examples::StopOnInterrupt();
  std::printf("data set           %s, %zu training records, %zu features\n", input.name.c_str(),
              plan.population.size(), input.data.feature_count);
  std::printf("noise multiplier   %.6f%s, sampling probability %.6g, %llu steps\n",
              plan.noise_multiplier, flags.noise_multiplier ? "" : " (calibrated by the server)",
              plan.probability(), static_cast<unsigned long long>(plan.steps));
  std::fflush(stdout);
  const bool show_progress = isatty(STDERR_FILENO) != 0;
  TrainingState state{network.InitialParameters(flags.seed)};
  const absl::Status trained = TrainOnEvents(
      plan, input.data, network, *recorder->events(), stop,
      [&](uint64_t done) {
        if (show_progress) {
          std::fprintf(stderr, "\rstep %llu of %llu ", static_cast<unsigned long long>(done),
                       static_cast<unsigned long long>(plan.steps));
        }
      },
      state);
  if (show_progress) std::fprintf(stderr, "\r\033[K");
  if (!trained.ok()) {
    std::fprintf(stderr,
                 "training ended after %llu of %llu steps; every released one was acknowledged by "
                 "the server or is in %s\n",
                 static_cast<unsigned long long>(state.steps_done),
                 static_cast<unsigned long long>(plan.steps), flags.spool.c_str());
    return trained;
  }
  if (stop) {
    std::fprintf(
        stderr,
        "stopped after %llu of %llu steps; closing this writer's part of the ledger (Ctrl-C again "
        "leaves what is not delivered in %s)\n",
        static_cast<unsigned long long>(state.steps_done),
        static_cast<unsigned long long>(plan.steps), flags.spool.c_str());
  }
  PrintAccuracy(input, plan, flags.test_fraction, network, state);
  return examples::EndRun(*recorder, flags.delta);
}

}  // namespace
}  // namespace dpledger::dp_sgd

int main(int argc, char** argv) {
  const auto parsed = dpledger::dp_sgd::ParseFlags(argc, argv);
  if (parsed.exit_code) return *parsed.exit_code;
  return dpledger::examples::ExitCode("dp_sgd", dpledger::dp_sgd::Run(parsed.flags));
}
