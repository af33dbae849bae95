#include "examples/dp_sgd/flags.h"

#include <CLI/CLI.hpp>

#include "examples/dp_sgd/flag_checks.h"

namespace dpledger::dp_sgd {
namespace {

constexpr char kAbout[] =
    R"(Trains a classifier with differential privacy (DP-SGD) and keeps its privacy ledger.

Examples:
  dp_sgd --server 127.0.0.1:7350 --ledger try --target-epsilon 1
      trains on a small made-up data set
  dp_sgd --server 127.0.0.1:7350 --ledger adult --target-epsilon 1 --delta 1e-5 \
      --data adult.data --schema examples/dp_sgd/adult_schema.json
      UCI Adult, with the noise calibrated by the server
  dp_sgd --server 127.0.0.1:7350 --ledger digits --noise-multiplier 1.1 --model mlp \
      --idx-images train-images-idx3-ubyte --idx-labels train-labels-idx1-ubyte
)";

void AddDataFlags(CLI::App& app, Flags& flags) {
  auto* data = app.add_option("--data", flags.data, "CSV file")->check(CLI::ExistingFile);
  auto* schema = app.add_option("--schema", flags.schema, "JSON file of the CSV's public constants")
                     ->check(CLI::ExistingFile);
  data->needs(schema);
  schema->needs(data);
  auto* images = app.add_option("--idx-images", flags.idx_images, "IDX file (MNIST's format)")
                     ->check(CLI::ExistingFile)
                     ->excludes(data);
  auto* labels = app.add_option("--idx-labels", flags.idx_labels, "IDX file of its labels")
                     ->check(CLI::ExistingFile);
  images->needs(labels);
  labels->needs(images);
  app.add_option(
      "--dataset", flags.dataset,
      "the data set's name in the ledger, the same for all runs on it [the file's name]");
  app.add_option("--population", flags.population,
                 "number of records, a public constant [the schema's rows, else the file's]")
      ->check(Between(1, 1e8));
  app.add_option("--test-fraction", flags.test_fraction,
                 "share of the records held out, by a hash of their index")
      ->check(Between(0.0, 0.9))
      ->capture_default_str();
}

void AddTrainingFlags(CLI::App& app, Flags& flags, std::string& model) {
  app.add_option("--model", model, "logistic or mlp (one hidden layer)")
      ->check(CLI::IsMember({"logistic", "mlp"}))
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

void AddPrivacyFlags(CLI::App& app, Flags& flags) {
  auto* noise = app.add_option_group("noise", "how much noise: one of the two");
  noise->add_option("--noise-multiplier", flags.noise_multiplier, "noise over clip norm")
      ->check(Between(1e-3, 1e6));
  noise
      ->add_option("--target-epsilon", flags.target_epsilon,
                   "the noise that the server calibrates for it")
      ->check(Between(1e-9, 1e9));
  noise->require_option(1);
  app.add_option("--delta", flags.delta, "of the target and of the final answer")
      ->check(Must("in (0, 1)", [](double value) { return value > 0 && value < 1; }))
      ->capture_default_str();
}

void AddLedgerFlags(CLI::App& app, Flags& flags, std::string& policy) {
  app.add_option("--server", flags.server, "host:port of dpledger-server")->required();
  app.add_option("--ledger", flags.ledger, "its ledger, made if it does not exist")->required();
  app.add_option("--writer", flags.writer, "name of this trainer in the ledger")
      ->capture_default_str();
  app.add_option("--spool", flags.spool,
                 "folder that keeps what the server has not acknowledged [./spool-LEDGER]");
  app.add_option(
         "--policy", policy,
         "release noise after the server's acknowledgement (fail-closed), or once the event "
         "is durable in the spool (spool)")
      ->check(CLI::IsMember({"fail-closed", "spool"}))
      ->capture_default_str();
}

}  // namespace

ParsedFlags ParseFlags(int argc, char** argv) {
  ParsedFlags parsed;
  Flags& flags = parsed.flags;
  std::string model = "logistic", policy = "fail-closed";
  CLI::App app(kAbout, "dp_sgd");
  AddDataFlags(app, flags);
  AddTrainingFlags(app, flags, model);
  AddPrivacyFlags(app, flags);
  AddLedgerFlags(app, flags, policy);
  try {
    app.parse(argc, argv);
    if (model == "logistic" && flags.hidden > 0) {
      throw CLI::ValidationError("--hidden", "is for --model mlp");
    }
  } catch (const CLI::ParseError& error) {
    parsed.exit_code = app.exit(error) == 0 ? 0 : 2;
    return parsed;
  }
  if (model == "mlp" && flags.hidden == 0) flags.hidden = 32;
  if (policy == "spool") flags.policy = v1::SPOOL;
  if (flags.spool.empty()) {
    flags.spool = "spool-" + flags.ledger;
    for (char& c : flags.spool) c = c == '/' ? '-' : c;
  }
  return parsed;
}

}  // namespace dpledger::dp_sgd
