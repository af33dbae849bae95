// What the program's exit code says. Scripts depend on these numbers.
#pragma once

#include "absl/status/status.h"

namespace dpledger::cli {

enum ExitCode : int {
  kExitOk = 0,
  kExitFailure = 1,  // bad content of a file, a refusal, anything without a code of its own
  kExitUsage = 2,    // a flag that does not parse or is out of its domain
  // What was checked is not as claimed (reasons CLAIM_REFUTED and BUNDLE_DIFFERENCE).
  kExitMismatch = 3,
  kExitNotAuthorised = 4,  // UNAUTHENTICATED, PERMISSION_DENIED
  kExitUnreachable = 6,    // UNAVAILABLE: no server, or one that stores nothing more
  kExitInterrupted = 130,  // Ctrl-C
};

// The reason of a status that says so.
inline constexpr char kClaimRefuted[] = "CLAIM_REFUTED";

ExitCode ExitCodeOf(const absl::Status& status);

}  // namespace dpledger::cli
