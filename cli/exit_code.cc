#include "cli/exit_code.h"

#include "base/status.h"
#include "ledger_store/bundle/difference.h"
#include "questions/held_run.h"
#include "registry/registry_log.h"

namespace dpledger::cli {

ExitCode ExitCodeOf(const absl::Status& status) {
  const std::string reason = ReasonOf(status).reason;
  if (reason == kClaimRefuted || reason == bundle::kDifference ||
      reason == registry::kContradiction || reason == registry::kWentBack ||
      reason == registry::kNotProven) {
    return kExitMismatch;
  }
  if (reason == questions::kFilterCrossed || reason == questions::kBudgetExceeded ||
      reason == questions::kBlockRetired) {
    return kExitOverspent;
  }
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
