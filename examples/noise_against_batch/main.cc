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

  void AddTo(flags::App& app);
};

void Flags::AddTo(flags::App& app) {
  using examples::AddNumber;
  app.add_option("--server", server, "host:port of dpledger-server")->required();
  AddNumber(app, "--epsilon", epsilon, 1e-9, 1e9, "of the whole run");
  AddNumber(app, "--delta", delta, 1e-300, 0.1, "of the whole run");
  AddNumber(app, "--population", population, 1, 1e15, "records");
  AddNumber(app, "--epochs", epochs, 1e-6, 1e6, "passes over the data, in expectation");
  AddNumber(app, "--clip-norm", clip_norm, 1e-30, 1e30,
            "largest L2 norm of one example's gradient");
  AddNumber(app, "--batch-sizes", batch_sizes, 1e-6, 1e15, "expected ones, at most the population")
      ->delimiter(',');
  app.add_flag("--csv", csv, "comma-separated values");
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
  using namespace dpledger::noise_against_batch;
  return dpledger::examples::Main<Flags>(argc, argv, "noise_against_batch", kAbout, Run);
}
