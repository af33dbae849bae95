// DP-FTRL on dpledger's client: no sampling, correlated noise, and one event for the whole run in
// the ledger before its first step is released.
#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status.h"
#include "examples/common/input.h"
#include "examples/common/privacy_service.h"
#include "examples/common/run_flags.h"
#include "examples/common/run_recorder.h"
#include "examples/common/run_report.h"
#include "examples/dp_ftrl/training.h"

namespace dpledger::dp_ftrl {
namespace {

using examples::Between;

constexpr char kAbout[] =
    R"(Trains a classifier with differential privacy by epochs in a fixed order and correlated noise
(DP-FTRL), and keeps its privacy ledger. --noise-multiplier is that of each step's message.

Examples:
  dp_ftrl --server 127.0.0.1:7070 --ledger try --target-epsilon 2
      trains on a small made-up data set, with a band of 64 coefficients
  dp_ftrl --server 127.0.0.1:7070 --ledger tree --target-epsilon 2 --encoder tree
      with tree aggregation; --encoder buffered: with two buffers (BLT)
)";

// Of two buffers for about 100 steps an epoch, found by a random search.
const client::BufferedToeplitz kTwoBuffers = {{0.257, 0.25}, {0.5791, 0.9816}};
// A band takes no more.
constexpr double kMostNoise = 256;

struct Flags : examples::RunFlags {
  examples::DataFlags input;
  double test_fraction = 0.2;
  uint64_t hidden = 0;
  uint64_t epochs = 10, batch_size = 256;
  std::string encoder = "banded";
  uint64_t band = 64;
  double clip_norm = 1, learning_rate = 0.5;
};

void AddFlags(CLI::App& app, Flags& flags) {
  examples::AddDataFlags(app, flags.input);
  app.add_option("--test-fraction", flags.test_fraction,
                 "share of the records held out, by a hash of their index")
      ->check(Between(0.0, 0.9))
      ->capture_default_str();
  app.add_option("--hidden", flags.hidden, "units of a hidden layer; 0: the linear model")
      ->check(Between(0, 100000))
      ->capture_default_str();
  app.add_option("--epochs", flags.epochs, "in each of which a record takes part once")
      ->check(Between(1, 1024))
      ->capture_default_str();
  app.add_option("--batch-size", flags.batch_size, "about: all batches of an epoch are alike")
      ->check(Between(1, 1e8))
      ->capture_default_str();
  app.add_option("--encoder", flags.encoder, "of the correlated noise: banded, buffered or tree")
      ->check(CLI::IsMember({"banded", "buffered", "tree"}))
      ->capture_default_str();
  app.add_option("--band", flags.band, "coefficients of --encoder banded; no more than an epoch")
      ->check(Between(1, 8000))
      ->capture_default_str();
  app.add_option("--clip-norm", flags.clip_norm, "largest L2 norm of one example's gradient")
      ->check(Between(1e-30, 1e30))
      ->capture_default_str();
  app.add_option("--learning-rate", flags.learning_rate, "of plain SGD")
      ->check(Between(1e-9, 1e9))
      ->capture_default_str();
  examples::AddRunFlags(app, flags);
}

// The least noise on the safe side: the run costs what its event costs, which the server works out.
absl::StatusOr<double> CalibrateNoise(const Flags& flags, TrainingPlan plan, size_t parameters,
                                      examples::PrivacyService& service) {
  double low = 0, high = kMostNoise;
  while (high - low > 1e-6 * high) {
    plan.noise_multiplier = (low + high) / 2;
    const client::CorrelatedOptions options = plan.Options(parameters);
    ASSIGN_OR_RETURN(const client::NoisePlan noise, client::NoisePlan::For(options.sums));
    v1::MechanismEvent event;
    ASSIGN_OR_RETURN(*event.mutable_matrix_mechanism(), client::MechanismOf(options, noise));
    ASSIGN_OR_RETURN(const double epsilon, service.EpsilonOf(event, v1::ZERO_OUT, flags.delta));
    (epsilon > *flags.target_epsilon ? low : high) = plan.noise_multiplier;
  }
  if (high < kMostNoise) return high;
  return FieldError("--target-epsilon", absl::StrCat("needs more noise than a multiplier of ",
                                                     kMostNoise, ", got ", *flags.target_epsilon));
}

absl::StatusOr<TrainingPlan> MakePlan(const Flags& flags, const examples::Input& input,
                                      size_t parameters, examples::PrivacyService& service) {
  TrainingPlan plan;
  for (size_t row = 0; row < input.population; ++row) {
    if (!examples::IsHeldOut(row, flags.test_fraction)) plan.population.push_back(row);
  }
  if (flags.batch_size > plan.population.size()) {
    return FieldError("--batch-size",
                      absl::StrCat("must be at most the training population, ",
                                   plan.population.size(), ", got ", flags.batch_size));
  }
  plan.batches_per_epoch = plan.population.size() / flags.batch_size;
  plan.epochs = flags.epochs;
  plan.clip_norm = flags.clip_norm;
  plan.learning_rate = flags.learning_rate;
  if (flags.encoder == "banded") {
    plan.encoder = SquareRoot(std::min(flags.band, plan.batches_per_epoch));
  } else if (flags.encoder == "buffered") {
    plan.encoder = kTwoBuffers;
  }
  RETURN_IF_ERROR(client::CheckOptions(plan.Options(parameters)));
  if (flags.noise_multiplier) {
    plan.noise_multiplier = *flags.noise_multiplier;
  } else {
    ASSIGN_OR_RETURN(plan.noise_multiplier, CalibrateNoise(flags, plan, parameters, service));
  }
  return plan;
}

v1::Declaration Declare(const Flags& flags, const examples::Input& input,
                        const TrainingPlan& plan) {
  v1::Declaration declaration;
  declaration.set_dataset(input.name);
  declaration.set_unit_of_privacy("example");
  // Which step a record is in depends on those before it, so removing one is no neighbour.
  declaration.set_adjacency(v1::ZERO_OUT);
  declaration.set_description(absl::StrFormat(
      "DP-FTRL, %s noise, %d hidden units, learning rate %g, clip norm %g, %d epochs of %d batches",
      flags.encoder, flags.hidden, plan.learning_rate, plan.clip_norm, plan.epochs,
      plan.batches_per_epoch));
  return declaration;
}

void PrintAccuracy(const Flags& flags, const examples::Input& input, examples::Network& network,
                   const TrainingState& state) {
  std::vector<size_t> held_out;
  for (size_t row = 0; row < std::min<size_t>(input.population, input.data.size()); ++row) {
    if (examples::IsHeldOut(row, flags.test_fraction)) held_out.push_back(row);
  }
  std::printf("held-out accuracy  %.4f on %zu records, NOT covered by epsilon\n",
              network.Accuracy(state.parameters, input.data, held_out), held_out.size());
}

absl::StatusOr<int> Run(const Flags& flags) {
  ASSIGN_OR_RETURN(const examples::Input input, examples::ReadInput(flags.input));
  examples::PrivacyService service(flags.server);
  examples::Network network(input.data.feature_count, flags.hidden,
                            static_cast<size_t>(input.data.class_count));
  ASSIGN_OR_RETURN(const TrainingPlan plan,
                   MakePlan(flags, input, network.parameter_count(), service));
  ASSIGN_OR_RETURN(const auto recorder, examples::OpenRecorder(flags, Declare(flags, input, plan)));
  examples::StopOnInterrupt();
  std::printf("data set           %s, %zu training records\n", input.name.c_str(),
              plan.population.size());
  std::printf("noise multiplier   %.6f%s, %s, %llu epochs of %llu steps\n", plan.noise_multiplier,
              flags.noise_multiplier ? "" : " (calibrated by the server)", flags.encoder.c_str(),
              static_cast<unsigned long long>(plan.epochs),
              static_cast<unsigned long long>(plan.batches_per_epoch));
  std::fflush(stdout);
  TrainingState state{network.InitialParameters(/*seed=*/1)};
  RETURN_IF_ERROR(Train(plan, input.data, network, *recorder, examples::stop, state));
  PrintAccuracy(flags, input, network, state);
  std::printf("steps              %llu of %llu%s\n",
              static_cast<unsigned long long>(state.steps_done),
              static_cast<unsigned long long>(plan.steps()),
              examples::stop ? "; the ledger is charged all of them" : "");
  return examples::EndRun(*recorder, service, flags.delta);
}

}  // namespace
}  // namespace dpledger::dp_ftrl

int main(int argc, char** argv) {
  using namespace dpledger;
  dp_ftrl::Flags flags;
  CLI::App app(dp_ftrl::kAbout, "dp_ftrl");
  dp_ftrl::AddFlags(app, flags);
  const auto exit_code = examples::Parse(app, argc, argv, flags, [] {});
  if (exit_code) return *exit_code;
  return examples::ExitCode("dp_ftrl", dp_ftrl::Run(flags));
}
