// The commands of dpledger-server that look at a store which no server has open: `fsck`, `dump` and
// `recover`. Data goes to stdout, talk to stderr.
#pragma once

namespace dpledger::server {

// Whether the command line begins with one of them.
bool IsStoreCommand(int argc, const char* const* argv);

// Runs it; the exit code: 0 clean or done; 1 the store cannot be read at all, or is refused; 2 a
// flag that is wrong; 3 something is damaged, missing or was passed over.
int RunStoreCommand(int argc, char** argv);

}  // namespace dpledger::server
