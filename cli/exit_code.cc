#include "cli/exit_code.h"

#include "base/status.h"

namespace dpledger::cli {

ExitCode ExitCodeOf(const absl::Status& status) {
  if (ReasonOf(status).reason == kClaimRefuted) return kExitMismatch;
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kExitOk;
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kPermissionDenied:
      return kExitNotAuthorised;
    case absl::StatusCode::kUnavailable:
      return kExitUnreachable;
    default:
      return kExitFailure;
  }
}

}  // namespace dpledger::cli
