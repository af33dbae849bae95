// A program's commands and flags as data, for whatever is made of them.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace dpledger::cli {

enum class ValueKind { kNone, kWords, kFile, kFolder, kOther };

struct FlagPart {
  std::vector<std::string> names;  // "--method", "-h"; one without dashes: an argument by its place
  std::string type;                // "FILE", "{a,b}"; empty for a flag without a value
  std::string fallback;            // the value unless told; may be empty
  std::string help;
  ValueKind kind = ValueKind::kNone;
  std::vector<std::string> words;  // of kWords
  bool required = false;
  bool positional = false;
};

struct CommandPart {
  std::string path;  // "ledger create"; empty for the program
  std::string name;  // "create"
  std::string about;
  std::string footer;
  std::vector<FlagPart> flags;
  std::vector<std::string> commands;  // names of those below it
};

// The program first, each command before those below it.
std::vector<CommandPart> PartsOf(const CLI::App& app);

// The first sentence, on one line and without its period.
std::string FirstSentence(const std::string& text);

}  // namespace dpledger::cli
