// How much noise each example gets in the mean gradient, against the batch size, at a fixed privacy
// budget and a fixed number of epochs: the server calibrates every row.
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "dpledger/client.h"
#include "examples/common/program.h"
#include "flags/app.h"

namespace dpledger::noise_against_batch {
namespace {

constexpr char kAbout[] =
    R"(Prints a table of batch sizes: the noise multiplier that a budget of epsilon at delta needs for so many
epochs of Poisson-sampled DP-SGD, and the noise per example in the mean gradient, multiplier times clip norm
over batch size.

Examples:
  noise_against_batch --server 127.0.0.1:7070
  noise_against_batch --server 127.0.0.1:7070 --epsilon 1 --population 32561 --epochs 20 \
      --batch-sizes 128,512,2048,8192,32561 --csv
)";

constexpr double kMostSteps = 1e9;

struct Flags {
  std::string server;
  double epsilon = 2, delta = 1e-5, population = 60000, epochs = 10, clip_norm = 1;
  std::vector<double> batch_sizes = {64, 256, 1024, 4096, 16384, 60000};
  bool csv = false;
};

void AddFlags(flags::App& app, Flags& flags) {
  using examples::Between;
  app.add_option("--server", flags.server, "host:port of dpledger-server")->required();
  app.add_option("--epsilon", flags.epsilon, "of the whole run")
      ->check(Between(1e-9, 1e9))
      ->capture_default_str();
  app.add_option("--delta", flags.delta, "of the whole run")
      ->check(Between(1e-300, 0.1))
      ->capture_default_str();
  app.add_option("--population", flags.population, "records")
      ->check(Between(1, 1e15))
      ->capture_default_str();
  app.add_option("--epochs", flags.epochs, "passes over the data, in expectation")
      ->check(Between(1e-6, 1e6))
      ->capture_default_str();
  app.add_option("--clip-norm", flags.clip_norm, "largest L2 norm of one example's gradient")
      ->check(Between(1e-30, 1e30))
      ->capture_default_str();
  app.add_option("--batch-sizes", flags.batch_sizes, "expected ones, at most the population")
      ->delimiter(',')
      ->check(Between(1e-6, 1e15))
      ->capture_default_str();
  app.add_flag("--csv", flags.csv, "comma-separated values");
}

absl::Status PrintRow(const Flags& flags, double batch_size) {
  const double probability = batch_size / flags.population;
  const double steps = std::ceil(flags.epochs / probability);
  ASSIGN_OR_RETURN(const double noise_multiplier,
                   CalibrateNoise(flags.server, {flags.epsilon, flags.delta}, probability,
                                  static_cast<uint64_t>(steps)));
  const double noise = noise_multiplier * flags.clip_norm / batch_size;
  std::printf(
      flags.csv ? "%.17g,%.17g,%.0f,%.17g,%.17g\n" : "%-12.6g %-12.6g %-10.0f %-12.6g %.6g\n",
      batch_size, probability, steps, noise_multiplier, noise);
  std::fflush(stdout);
  return absl::OkStatus();
}

absl::StatusOr<int> Run(const Flags& flags) {
  for (const double batch_size : flags.batch_sizes) {
    if (!(batch_size <= flags.population)) {
      return FieldError("--batch-sizes", absl::StrCat("must be at most the population, ",
                                                      flags.population, ", got ", batch_size));
    }
    if (!(flags.epochs * flags.population / batch_size <= kMostSteps)) {
      return FieldError("--batch-sizes",
                        absl::StrCat("must make at most ", kMostSteps, " steps, got ", batch_size));
    }
  }
  if (flags.csv) {
    std::printf("batch_size,sampling_probability,steps,noise_multiplier,noise_per_example\n");
  } else {
    std::printf("epsilon %g, delta %g, %g epochs over %g records, clip norm %g\n", flags.epsilon,
                flags.delta, flags.epochs, flags.population, flags.clip_norm);
    std::printf("%-12s %-12s %-10s %-12s %s\n", "batch", "probability", "steps", "multiplier",
                "noise per example");
  }
  for (const double batch_size : flags.batch_sizes) {
    RETURN_IF_ERROR(PrintRow(flags, batch_size));
  }
  return 0;
}

}  // namespace
}  // namespace dpledger::noise_against_batch

int main(int argc, char** argv) {
  dpledger::noise_against_batch::Flags flags;
  dpledger::flags::App app(dpledger::noise_against_batch::kAbout, "noise_against_batch");
  dpledger::noise_against_batch::AddFlags(app, flags);
  try {
    app.parse(argc, argv);
  } catch (const dpledger::flags::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return dpledger::examples::ExitCode("noise_against_batch",
                                      dpledger::noise_against_batch::Run(flags));
}
