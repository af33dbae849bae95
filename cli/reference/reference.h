// What a program says of itself elsewhere than in --help: its man page and the completions of
// shells, made from its own flags and commands, so that they cannot differ. Pure functions.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>

namespace dpledger::cli {

struct ManPage {
  std::string section;  // "1"; "8" for what administrators run
  std::string version;  // "dpledger 0.1.0"
  std::string manual;   // "User Commands"
};

// The page in roff's man macros. UTF-8: `man` and mandoc read that.
std::string ManPageOf(const CLI::App& app, const ManPage& page);

// For commands, flags and the values of flags: those whose type is FILE or FOLDER get file names,
// those with "{a,b}" in their type these words.
std::string BashCompletionOf(const CLI::App& app);
std::string ZshCompletionOf(const CLI::App& app);
std::string FishCompletionOf(const CLI::App& app);

// Adds the commands `completion SHELL` and `man` to the program. The one that is given leaves in
// `chosen` what makes its text; `whole` makes the app to describe, which may have more than `app`.
using Describe = std::function<std::string(const std::function<std::string(const CLI::App&)>&)>;
void AddReferenceCommands(CLI::App& app, const Describe& describe, const ManPage& page,
                          std::function<std::string()>& chosen);

// For a program without other commands: if its first argument is one of these, runs it and gives
// the exit code.
std::optional<int> RunReferenceCommand(int argc, char** argv, const CLI::App& app,
                                       const ManPage& page);

}  // namespace dpledger::cli
