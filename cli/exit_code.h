// The program's exit codes. Scripts depend on these numbers.
#pragma once

#include "absl/status/status.h"

namespace dpledger::cli {

enum ExitCode : int {
  kExitOk = 0,
  kExitFailure = 1,  // bad file content, a refusal, any error without a code of its own
  kExitUsage = 2,    // a flag that does not parse or is outside its domain
  // A check found a difference (reasons CLAIM_REFUTED and BUNDLE_DIFFERENCE).
  kExitMismatch = 3,
  kExitNotAuthorised = 4,  // UNAUTHENTICATED, PERMISSION_DENIED
  kExitOverspent = 5,      // what was asked for needs more than a filter allows (FILTER_CROSSED,
                           // BUDGET_EXCEEDED)
  kExitUnreachable = 6,    // UNAVAILABLE: no server, or one whose store has stopped
  kExitInterrupted = 130,  // Ctrl-C
};

// The reason of a status for a claim that an audit refutes.
inline constexpr char kClaimRefuted[] = "CLAIM_REFUTED";

ExitCode ExitCodeOf(const absl::Status& status);

}  // namespace dpledger::cli
