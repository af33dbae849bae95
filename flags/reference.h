// A program's bash completion and its man page. Both are made from its flags and commands, as
// --help is, so that the three cannot differ.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "flags/app.h"

namespace dpledger::flags {

struct ManPage {
  std::string section;  // "1"; "8" for what administrators run
  std::string version;  // "dpledger 0.1.0"
  std::string manual;   // "User Commands"
};

// Adds the commands `completion bash` and `man` to the program. The one that is given leaves in
// `chosen` what makes its text. `describe` hands the app to describe to its argument, and gives
// its result: that app may have more flags than `app`.
using Describe = std::function<std::string(const std::function<std::string(const App&)>&)>;
void AddReferenceCommands(App& app, const Describe& describe, const ManPage& page,
                          std::function<std::string()>& chosen);

// For a program without other commands: if its first argument is one of these, runs it and gives
// the exit code.
std::optional<int> RunReferenceCommand(int argc, char** argv, const App& app, const ManPage& page);

}  // namespace dpledger::flags
