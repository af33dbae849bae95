#include "examples/dp_sgd/flags.h"

#include "examples/common/program.h"

namespace dpledger::dp_sgd {
namespace {

constexpr char kAbout[] =
    R"(Trains a classifier with differential privacy (DP-SGD) and keeps its privacy ledger.

Examples:
  dp_sgd --server 127.0.0.1:7070 --ledger try --target-epsilon 1
      trains on a small made-up data set
  dp_sgd --server 127.0.0.1:7070 --ledger adult --target-epsilon 1 --delta 1e-5 \
      --data adult.data --schema examples/dp_sgd/adult_schema.json
      UCI Adult, with the noise calibrated by the server
  dp_sgd --server 127.0.0.1:7070 --ledger digits --noise-multiplier 1.1 --model mlp \
      --idx-images train-images-idx3-ubyte --idx-labels train-labels-idx1-ubyte
)";

using examples::Between;

void AddTrainingFlags(flags::App& app, Flags& flags, std::string& model) {
  app.add_option("--test-fraction", flags.test_fraction,
                 "share of the records held out, by a hash of their index")
      ->check(Between(0.0, 0.9))
      ->capture_default_str();
  app.add_option("--model", model, "logistic or mlp (one hidden layer)")
      ->check(flags::IsMember({"logistic", "mlp"}))
      ->capture_default_str();
  app.add_option("--hidden", flags.hidden, "hidden units of the mlp [32]")
      ->check(Between(1, 100000));
  auto* epochs = app.add_option("--epochs", flags.epochs, "passes over the data, in expectation")
                     ->check(Between(1e-6, 1e6))
                     ->capture_default_str();
  app.add_option("--steps", flags.steps, "rounds, instead of --epochs")
      ->check(Between(1, 1000000000))
      ->excludes(epochs);
  app.add_option("--batch-size", flags.batch_size,
                 "expected; divided by the population it is the sampling probability")
      ->check(Between(1e-6, 1e12))
      ->capture_default_str();
  app.add_option("--clip-norm", flags.clip_norm, "largest L2 norm of one example's gradient")
      ->check(Between(1e-30, 1e30))
      ->capture_default_str();
  app.add_option("--learning-rate", flags.learning_rate, "of plain SGD")
      ->check(Between(1e-9, 1e9))
      ->capture_default_str();
  app.add_option("--seed", flags.seed, "of the mlp's initial weights (public)")
      ->capture_default_str();
}

}  // namespace

ParsedFlags ParseFlags(int argc, char** argv) {
  ParsedFlags parsed;
  Flags& flags = parsed.flags;
  std::string model = "logistic";
  flags::App app(kAbout, "dp_sgd");
  examples::AddDataFlags(app, flags.input);
  AddTrainingFlags(app, flags, model);
  examples::AddRunFlags(app, flags);
  parsed.exit_code = examples::Parse(app, argc, argv, flags, [&] {
    if (model == "logistic" && flags.hidden > 0) {
      throw flags::ValidationError("--hidden", "is for --model mlp");
    }
  });
  if (model == "mlp" && flags.hidden == 0) flags.hidden = 32;
  return parsed;
}

}  // namespace dpledger::dp_sgd
