// The commands of dpledger-server for a store that no server has open: `fsck`, `dump` and
// `recover`. Data goes to stdout, notes and errors to stderr.
#pragma once

namespace dpledger::server {

// Whether the command line begins with one of them.
bool IsStoreCommand(int argc, const char* const* argv);

// Runs the command and returns the exit code. 0: clean, or done. 1: the store cannot be read at
// all, or is refused. 2: a wrong flag. 3: something is damaged, missing or was skipped.
int RunStoreCommand(int argc, char** argv);

}  // namespace dpledger::server
