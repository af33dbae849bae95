#include "examples/common/run_recorder.h"

#include <cstdio>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/status.h"
#include "examples/common/program.h"

namespace dpledger::examples {
namespace {

void Print(const Cost& cost) {
  absl::PrintF("ledger             %s\n", cost.ledger);
  absl::PrintF("entries            %d, root %s\n", cost.entries, cost.root);
  absl::PrintF("epsilon            [%.6f, %.6f] at delta %g (%s)\n", cost.epsilon.lower,
               cost.epsilon.upper, cost.delta, cost.method);
  if (cost.planned_epsilon) {
    absl::PrintF(
        "epsilon, planned   [%.6f, %.6f]; it covers a run that was stopped for what it showed\n",
        cost.planned_epsilon->lower, cost.planned_epsilon->upper);
  }
  for (const std::string& warning : cost.warnings) {
    absl::PrintF("warning            %s\n", warning);
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Recorder>> OpenRecorder(const RunFlags& flags,
                                                       Declaration declaration,
                                                       std::optional<RunState> state) {
  RecorderOptions options;
  options.server = flags.server;
  options.ledger = flags.ledger;
  options.writer = flags.writer;
  options.policy = flags.policy;
  options.spool_folder = flags.spool;
  options.declaration = std::move(declaration);
  options.declaration.parameters = Parameters::kFixed;
  options.declaration.released = "all iterates";
  options.state = std::move(state);
  return Recorder::Open(options);
}

absl::StatusOr<double> NoiseMultiplier(const RunFlags& flags, double sampling_probability,
                                       uint64_t steps) {
  if (flags.noise_multiplier) return *flags.noise_multiplier;
  return CalibrateNoise(flags.server, {*flags.target_epsilon, flags.delta}, sampling_probability,
                        steps);
}

absl::StatusOr<int> EndRun(Recorder& recorder, double delta) {
  std::fflush(stdout);
  RETURN_IF_ERROR(recorder.Close());
  ASSIGN_OR_RETURN(const Cost cost, recorder.ComputeCost(delta));
  Print(cost);
  return stop ? 130 : 0;
}

}  // namespace dpledger::examples
