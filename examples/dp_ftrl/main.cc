// DP-FTRL on dpledger's client: correlated noise, with or without sampling, and one event for the
// whole run in the ledger before its first step is released.
#include <cstdio>
#include <string>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status.h"
#include "examples/common/input.h"
#include "examples/common/program.h"
#include "examples/common/run_flags.h"
#include "examples/common/run_recorder.h"
#include "examples/dp_ftrl/training.h"
#include "flags/app.h"

namespace dpledger::dp_ftrl {
namespace {

using examples::AddNumber;

constexpr char kAbout[] =
    R"(Trains a classifier with differential privacy by epochs in a fixed order and correlated noise
(DP-FTRL), and keeps its privacy ledger. --noise-multiplier is that of each step's message.

Examples:
  dp_ftrl --server 127.0.0.1:7070 --ledger try --target-epsilon 2
      trains on a small made-up data set, with a band of 64 coefficients
  dp_ftrl --server 127.0.0.1:7070 --ledger tree --target-epsilon 2 --encoder tree
      with tree aggregation; --encoder buffered: with two buffers (BLT)
  dp_ftrl --server 127.0.0.1:7070 --ledger bins --target-epsilon 2 --sampling balls-in-bins
      each record in a bin drawn for the whole run, which needs less noise for the same epsilon
  (umask 077; head -c 32 /dev/urandom > run.key)
  dp_ftrl --server 127.0.0.1:7070 --ledger long --target-epsilon 2 --state-key run.key
      a run that may be killed at any time: the same command carries it on, at no further cost
)";

// Of two buffers for about 100 steps an epoch, found by a random search.
const BufferedToeplitz kTwoBuffers = {{0.257, 0.25}, {0.5791, 0.9816}};

// Which step a record is in depends on those before it, so removing one is no neighbour.
constexpr Adjacency kAdjacency = Adjacency::kZeroOut;

struct Flags : examples::TrainingFlags {
  uint64_t hidden = 0;
  uint64_t epochs = 10, batch_size = 256;
  std::string encoder = "banded", sampling = "none";
  uint64_t band = 64;
  std::string state_key;
  uint64_t save_every = 10;

  void AddTo(flags::App& app);
};

void Flags::AddTo(flags::App& app) {
  AddTrainingTo(app);
  AddNumber(app, "--hidden", hidden, 0, 100000, "units of a hidden layer; 0: the linear model");
  AddNumber(app, "--epochs", epochs, 1, 1024, "in each of which a record takes part once");
  AddNumber(app, "--batch-size", batch_size, 1, 1e8, "about: all batches of an epoch are alike");
  app.add_option("--encoder", encoder, "of the correlated noise: banded, buffered or tree")
      ->check(flags::IsMember({"banded", "buffered", "tree"}))
      ->capture_default_str();
  AddNumber(app, "--band", band, 1, 8000,
            "coefficients of --encoder banded; no more than an epoch");
  app.add_option("--sampling", sampling,
                 "none: a fixed order of the records; cyclic-poisson (--encoder banded): a record "
                 "every --band steps, with a probability; balls-in-bins: a record in one step of "
                 "each epoch, drawn for the whole run")
      ->check(flags::IsMember({"none", "cyclic-poisson", "balls-in-bins"}))
      ->capture_default_str();
  auto* key = app.add_option("--state-key", state_key,
                             "file of 32 random bytes, mode 0600: where the run stands is kept in "
                             "the spool's folder, sealed, and the same command carries it on")
                  ->check(flags::ExistingFile());
  AddNumber(app, "--save-every", save_every, 1, 1e9, "steps, with --state-key")->needs(key);
  RunFlags::AddTo(app);
}

// Batches have the same expected size, whichever it is.
absl::Status SetSampling(const Flags& flags, TrainingPlan& plan) {
  const uint64_t population = plan.population.size();
  if (flags.sampling == "balls-in-bins") {
    plan.sampling = BallsInBinsSampling{population, plan.batches_per_epoch};
  }
  if (flags.sampling != "cyclic-poisson") return absl::OkStatus();
  const auto* banded = std::get_if<BandedToeplitz>(&plan.encoder);
  if (banded == nullptr) {
    return FieldError("--sampling",
                      absl::StrCat("cyclic-poisson needs --encoder banded, got ", flags.encoder));
  }
  const uint64_t band = banded->coefficients.size();
  const double share = static_cast<double>(band) / static_cast<double>(plan.batches_per_epoch);
  plan.sampling = CyclicPoissonSampling{population, band, share};
  return absl::OkStatus();
}

absl::StatusOr<TrainingPlan> MakePlan(const Flags& flags, const examples::Input& input,
                                      size_t parameters) {
  TrainingPlan plan;
  plan.population = examples::SplitRecords(input.population, flags.test_fraction).training;
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
  RETURN_IF_ERROR(SetSampling(flags, plan));
  if (flags.noise_multiplier) {
    plan.noise_multiplier = *flags.noise_multiplier;
  } else {
    ASSIGN_OR_RETURN(plan.noise_multiplier,
                     CalibrateNoise(flags.server, {*flags.target_epsilon, flags.delta},
                                    plan.Options(parameters), kAdjacency));
  }
  return plan;
}

Declaration Declare(const Flags& flags, const examples::Input& input, const TrainingPlan& plan) {
  return {.dataset = input.name,
          .unit_of_privacy = "example",
          .adjacency = kAdjacency,
          .plan_independent = flags.plan_independent,
          .description =
              absl::StrFormat("DP-FTRL, %s noise, sampling %s, %d hidden units, "
                              "learning rate %g, clip norm %g, %d epochs of %d batches",
                              flags.encoder, flags.sampling, flags.hidden, plan.learning_rate,
                              plan.clip_norm, plan.epochs, plan.batches_per_epoch)};
}

void PrintAccuracy(const Flags& flags, const examples::Input& input, examples::Network& network,
                   const TrainingState& state) {
  const auto [training, held_out] = examples::SplitRecords(
      std::min<size_t>(input.population, input.data.size()), flags.test_fraction);
  absl::PrintF("held-out accuracy  %.4f on %d records, NOT covered by epsilon\n",
               network.Accuracy(state.parameters, input.data, held_out), held_out.size());
}

absl::StatusOr<int> Run(const Flags& flags) {
  ASSIGN_OR_RETURN(const examples::Input input,
                   examples::ReadInput(flags.input, examples::Size::kPublic));
  examples::Network network(input.data.feature_count, flags.hidden,
                            static_cast<size_t>(input.data.class_count));
  ASSIGN_OR_RETURN(const TrainingPlan plan, MakePlan(flags, input, network.parameter_count()));
  std::optional<RunState> run_state;
  std::optional<Checkpoints> checkpoints;
  if (!flags.state_key.empty()) {
    run_state = RunState{flags.state_key};
    checkpoints = Checkpoints{flags.spool, flags.save_every};
  }
  ASSIGN_OR_RETURN(const auto recorder,
                   examples::OpenRecorder(flags, Declare(flags, input, plan), run_state));
  examples::StopOnInterrupt();
  absl::PrintF("data set           %s, %d training records\n", input.name, plan.population.size());
  absl::PrintF("noise multiplier   %.6f%s, %s, %d epochs of %d steps\n", plan.noise_multiplier,
               flags.noise_multiplier ? "" : " (calibrated by the server)", flags.encoder,
               plan.epochs, plan.batches_per_epoch);
  std::fflush(stdout);
  TrainingState state{network.InitialParameters(/*seed=*/1)};
  RETURN_IF_ERROR(Train(plan, input.data, network, *recorder, checkpoints, examples::stop, state));
  PrintAccuracy(flags, input, network, state);
  const bool kept = examples::stop && checkpoints && state.steps_done < plan.steps();
  absl::PrintF("steps              %d of %d%s\n", state.steps_done, plan.steps(),
               kept             ? "; the same command goes on from here"
               : examples::stop ? "; the ledger is charged all of them"
                                : "");
  if (kept) return 130;
  return examples::EndRun(*recorder, flags.delta);
}

}  // namespace
}  // namespace dpledger::dp_ftrl

int main(int argc, char** argv) {
  using namespace dpledger::dp_ftrl;
  return dpledger::examples::Main<Flags>(argc, argv, "dp_ftrl", kAbout, Run);
}
