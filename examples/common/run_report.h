// What an example trainer says at its end, and how it is stopped.
#pragma once

#include <atomic>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "examples/common/privacy_service.h"

namespace dpledger::examples {

// Prints the ledger's entries and root, and its epsilon at `delta` by the server.
absl::Status PrintCost(PrivacyService& service, const std::string& ledger, double delta);

// Set by the first Ctrl-C (or SIGTERM) after StopOnInterrupt, which says so on stderr; the second
// one ends the program.
extern std::atomic<bool> stop;
void StopOnInterrupt();

// Prints an error as "<program>: CODE: message". The command line's own exit codes: 6 says that the
// server was not reached.
int ExitCode(const char* program, const absl::StatusOr<int>& result);

}  // namespace dpledger::examples
