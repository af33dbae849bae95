// Commands and their help: what the command does, examples, then the flags.
#pragma once

#include <string>

#include "flags/app.h"

namespace dpledger::cli {

// Adds a subcommand with the flag --json. `examples` are lines of shell.
flags::App* AddCommand(flags::App& parent, const std::string& name, const std::string& description,
                       const std::string& examples);

}  // namespace dpledger::cli
