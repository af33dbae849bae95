#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "cli/reference/parts.h"
#include "cli/reference/reference.h"

namespace dpledger::cli {
namespace {

// In single quotes, for bash and fish.
std::string Quoted(const std::string& text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"'", "\\'"}}), "'");
}

// A name for functions: "dpledger_server".
std::string Identifier(const std::string& program) {
  return absl::StrReplaceAll(program, {{"-", "_"}});
}

// " ledger create", as the scripts keep where they are; empty for the program.
std::string PathOf(const CommandPart& part) {
  return part.path.empty() ? "" : absl::StrCat(" ", part.path);
}

std::vector<std::string> DashedNames(const CommandPart& part) {
  std::vector<std::string> names;
  for (const FlagPart& flag : part.flags) {
    if (flag.positional) continue;
    names.insert(names.end(), flag.names.begin(), flag.names.end());
  }
  return names;
}

// What completes the value of a flag, in bash.
std::string BashValue(const FlagPart& flag) {
  switch (flag.kind) {
    case ValueKind::kWords:
      return absl::StrCat("words ", Quoted(absl::StrJoin(flag.words, " ")));
    case ValueKind::kFile:
      return "files -f";
    case ValueKind::kFolder:
      return "files -d";
    default:
      return "nothing";
  }
}

// "a|b)" of a case.
std::string Pattern(const std::vector<std::string>& words) {
  return absl::StrCat(
      absl::StrJoin(words, "|",
                    [](std::string* out, const std::string& word) { *out += Quoted(word); }),
      ")");
}

std::string BashCommand(const CommandPart& part) {
  std::string text = absl::StrCat("    ", Quoted(PathOf(part)), ")\n");
  std::string values;
  std::string argument;
  for (const FlagPart& flag : part.flags) {
    if (flag.kind == ValueKind::kNone) continue;
    if (flag.positional) {
      if (argument.empty()) argument = BashValue(flag);
    } else {
      absl::StrAppend(&values, "        ", Pattern(flag.names), " ", BashValue(flag),
                      "; return ;;\n");
    }
  }
  if (!values.empty()) absl::StrAppend(&text, "      case $previous in\n", values, "      esac\n");
  absl::StrAppend(&text, "      case $current in\n        -*) words ",
                  Quoted(absl::StrJoin(DashedNames(part), " ")), " ;;\n        *) ",
                  part.commands.empty()
                      ? (argument.empty() ? "nothing" : argument)
                      : absl::StrCat("words ", Quoted(absl::StrJoin(part.commands, " "))),
                  " ;;\n      esac ;;\n");
  return text;
}

// The paths of all commands, for a case.
std::vector<std::string> Paths(const std::vector<CommandPart>& parts) {
  std::vector<std::string> paths;
  for (const CommandPart& part : parts) {
    if (!part.path.empty()) paths.push_back(PathOf(part));
  }
  return paths;
}

std::string FishFlag(const std::string& head, const FlagPart& flag) {
  std::string text = head;
  for (const std::string& name : flag.names) {
    absl::StrAppend(&text, name.starts_with("--") ? " -l " : " -s ",
                    name.substr(name.find_first_not_of('-')));
  }
  switch (flag.kind) {
    case ValueKind::kNone:
      break;
    case ValueKind::kWords:
      absl::StrAppend(&text, " -x -a ", Quoted(absl::StrJoin(flag.words, " ")));
      break;
    case ValueKind::kFile:
      text += " -r -F";
      break;
    case ValueKind::kFolder:
      text += " -x -a '(__fish_complete_directories)'";
      break;
    case ValueKind::kOther:
      text += " -x";
      break;
  }
  return absl::StrCat(text, " -d ", Quoted(FirstSentence(flag.help)), "\n");
}

}  // namespace

std::string BashCompletionOf(const CLI::App& app) {
  const std::vector<CommandPart> parts = PartsOf(app);
  const std::string& program = parts.front().name;
  const std::string function = "_" + Identifier(program);
  std::string text = absl::StrCat("# bash completion for ", program, ", made by `", program,
                                  " completion bash`\n", function, "() {\n");
  text +=
      "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} path= i\n"
      "  words() { COMPREPLY=($(compgen -W \"$1\" -- \"$current\")); }\n"
      "  files() {\n"
      "    local IFS=$'\\n'\n"
      "    compopt -o filenames 2>/dev/null || :\n"
      "    COMPREPLY=($(compgen \"$1\" -- \"$current\"))\n"
      "  }\n"
      "  nothing() { COMPREPLY=(); }\n";
  const std::vector<std::string> paths = Paths(parts);
  if (!paths.empty()) {
    absl::StrAppend(&text,
                    "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
                    "    case \"$path ${COMP_WORDS[i]}\" in\n      ",
                    Pattern(paths), " path+=\" ${COMP_WORDS[i]}\" ;;\n    esac\n  done\n");
  }
  text += "  case $path in\n";
  for (const CommandPart& part : parts) text += BashCommand(part);
  absl::StrAppend(&text, "  esac\n}\ncomplete -F ", function, " ", program, "\n");
  return text;
}

std::string ZshCompletionOf(const CLI::App& app) {
  return absl::StrCat("#compdef ", app.get_name(),
                      "\nautoload -U +X bashcompinit && bashcompinit\n", BashCompletionOf(app));
}

std::string FishCompletionOf(const CLI::App& app) {
  const std::vector<CommandPart> parts = PartsOf(app);
  const std::string& program = parts.front().name;
  const std::string function = absl::StrCat("__", Identifier(program), "_at");
  std::string text = absl::StrCat("# fish completion for ", program, ", made by `", program,
                                  " completion fish`\nfunction ", function,
                                  "\n  set -l path ''\n  for word in (commandline -opc)[2..]\n"
                                  "    switch \"$path $word\"\n      case ''");
  for (const std::string& path : Paths(parts)) absl::StrAppend(&text, " ", Quoted(path));
  text +=
      "\n        set path \"$path $word\"\n    end\n  end\n  test \"$path\" = \"$argv[1]\"\nend\n";
  absl::StrAppend(&text, "complete -c ", program, " -f\n");
  for (const CommandPart& part : parts) {
    const std::string head =
        absl::StrCat("complete -c ", program, " -n \"", function, " '", PathOf(part), "'\"");
    for (const CommandPart& below : parts) {
      const bool is_below =
          !below.path.empty() &&
          below.path == absl::StrCat(part.path, part.path.empty() ? "" : " ", below.name);
      if (!is_below) continue;
      absl::StrAppend(&text, head, " -a ", below.name, " -d ", Quoted(FirstSentence(below.about)),
                      "\n");
    }
    for (const FlagPart& flag : part.flags) {
      if (!flag.positional) text += FishFlag(head, flag);
    }
  }
  return text;
}

}  // namespace dpledger::cli
