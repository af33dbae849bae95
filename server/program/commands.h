// The commands of dpledger-server, beside running the server itself.
#pragma once

namespace dpledger::server {

// Whether the first argument names one.
bool IsCommand(int argc, const char* const* argv);

// Runs it; the program's exit code.
int RunCommand(int argc, char** argv);

}  // namespace dpledger::server
