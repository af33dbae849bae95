// The commands of dpledger-server, beside running the server itself.
#pragma once

#include <optional>

namespace dpledger::server {

// Runs the command that the first argument names: the program's exit code. nullopt: it names none.
std::optional<int> RunCommand(int argc, char** argv);

}  // namespace dpledger::server
