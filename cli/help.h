// Commands and their help: what the command does, examples, then the flags.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

namespace dpledger::cli {

// A formatter that prints an app's footer before its usage: AddCommand stores the examples there.
std::shared_ptr<CLI::Formatter> ExamplesFirst();

// Adds a subcommand with the flag --json. `examples` are lines of shell.
CLI::App* AddCommand(CLI::App& parent, const std::string& name, const std::string& description,
                     const std::string& examples);

}  // namespace dpledger::cli
