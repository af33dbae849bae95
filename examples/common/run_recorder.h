// How an example trainer opens its ledger, how much noise it takes, and how it ends its run there.
#pragma once

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "dpledger/client.h"
#include "examples/common/run_flags.h"

namespace dpledger::examples {

// `declaration` as it is, with what all trainers say: FIXED, and that all iterates are released.
absl::StatusOr<std::unique_ptr<Recorder>> OpenRecorder(const RunFlags& flags,
                                                       Declaration declaration,
                                                       std::optional<RunState> state = {});

// The flag's, or what the server says that rounds on Poisson samples need for the target.
absl::StatusOr<double> NoiseMultiplier(const RunFlags& flags, double sampling_probability,
                                       uint64_t steps);

// Closes the ledger's writer and prints the ledger's entries and root, and its epsilon by the
// server; the program's exit code.
absl::StatusOr<int> EndRun(Recorder& recorder, double delta);

}  // namespace dpledger::examples
