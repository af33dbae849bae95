// Commands and the help they print: what it does, examples, then the flags.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

namespace dpledger::cli {

// The formatter that puts an app's footer, where AddCommand keeps the examples, before its usage.
std::shared_ptr<CLI::Formatter> ExamplesFirst();

// A subcommand with --json. `examples` are lines of shell.
CLI::App* AddCommand(CLI::App& parent, const std::string& name, const std::string& description,
                     const std::string& examples);

}  // namespace dpledger::cli
