// How an example trainer opens its ledger, and how it ends its run there.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "client/recorder.h"
#include "examples/common/privacy_service.h"
#include "examples/common/run_flags.h"

namespace dpledger::examples {

// `declaration` as it is, with what all trainers say: FIXED, and that all iterates are released.
absl::StatusOr<std::unique_ptr<client::PrivacyRecorder>> OpenRecorder(const RunFlags& flags,
                                                                      v1::Declaration declaration);

// Closes the ledger's writer and prints what the run cost; the program's exit code.
absl::StatusOr<int> EndRun(client::PrivacyRecorder& recorder, PrivacyService& service,
                           double delta);

}  // namespace dpledger::examples
