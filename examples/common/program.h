// What every example program has: domains of its flags, a way to stop it, its exit code.
#pragma once

#include <atomic>

#include "absl/status/statusor.h"
#include "flags/app.h"

namespace dpledger::examples {

// Lets no NaN through, which flags::Range does.
flags::Validator Between(double least, double most);
flags::Validator InOpenUnitInterval();

// Set by the first Ctrl-C (or SIGTERM) after StopOnInterrupt, which says so on stderr; the second
// one ends the program.
extern std::atomic<bool> stop;
void StopOnInterrupt();

// Prints an error as "<program>: CODE: message". The command line's own exit codes: 6 says that the
// server was not reached.
int ExitCode(const char* program, const absl::StatusOr<int>& result);

}  // namespace dpledger::examples
