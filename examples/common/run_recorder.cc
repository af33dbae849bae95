#include "examples/common/run_recorder.h"

#include <cstdio>
#include <utility>

#include "base/status.h"
#include "examples/common/run_report.h"

namespace dpledger::examples {

absl::StatusOr<std::unique_ptr<client::PrivacyRecorder>> OpenRecorder(const RunFlags& flags,
                                                                      v1::Declaration declaration) {
  client::RecorderOptions options;
  options.server = flags.server;
  options.ledger = flags.ledger;
  options.writer = flags.writer;
  options.policy = flags.policy;
  options.spool_folder = flags.spool;
  options.declaration = std::move(declaration);
  options.declaration.set_parameters(v1::FIXED);
  options.declaration.set_released("all iterates");
  return client::PrivacyRecorder::Open(std::move(options));
}

absl::StatusOr<int> EndRun(client::PrivacyRecorder& recorder, PrivacyService& service,
                           double delta) {
  std::fflush(stdout);
  RETURN_IF_ERROR(recorder.Close());
  RETURN_IF_ERROR(PrintCost(service, recorder.ledger(), delta));
  return stop ? 130 : 0;
}

}  // namespace dpledger::examples
