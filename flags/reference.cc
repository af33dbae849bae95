#include "flags/reference.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <string_view>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace dpledger::flags {
namespace {

// What one walk over a program's commands makes.
struct Made {
  std::string paths = "''";  // bash's pattern for the commands: "''|' ledger'|' ledger create'"
  std::string cases;         // in bash: what completes a word after each of them
  std::string sections;      // of the man page, from SYNOPSIS on
};

// The value of a flag.
struct Value {
  std::string type;  // as the man page shows it; empty for a flag without a value
  std::string bash;  // sets what completes it; empty if nothing does
};

// A type is "{a,b}" where the value is one of these words, FILE or FOLDER where it is a path.
Value ValueOf(const CLI::Option& option) {
  std::string type = option.get_type_name();
  const size_t open = type.find('{');
  const size_t close = type.find('}', open);
  if (open != std::string::npos && close != std::string::npos) {
    const std::string words = type.substr(open + 1, close - open - 1);
    return {absl::StrCat("{", words, "}"),
            absl::StrCat("words='", absl::StrReplaceAll(words, {{",", " "}}), "'")};
  }
  // CLI::Range adds "TYPE in [a - b]" behind a colon, CLI::ExistingFile "FILE". (HOST:PORT is a
  // type.)
  if (absl::StrContains(type, " in [") || type.ends_with(":FILE")) type.resize(type.find(':'));
  return {type, type == "FILE" ? "files=-f" : type == "FOLDER" ? "files=-d" : ""};
}

// Text that roff prints as it is: no escapes, no requests, and dashes that can be copied.
std::string Escape(const std::string& text) {
  const bool request = !text.empty() && (text[0] == '.' || text[0] == '\'');
  return absl::StrCat(request ? "\\&" : "",
                      absl::StrReplaceAll(text, {{"\\", "\\e"}, {"-", "\\-"}}));
}

// Paragraphs are filled; a line that begins with a blank stands as it is.
std::string Body(const std::string& text) {
  std::string body;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::string escaped = Escape(std::string(line));
    absl::StrAppend(&body,
                    line.empty()          ? ".PP"
                    : line.front() == ' ' ? absl::StrCat(".nf\n", escaped, "\n.fi")
                                          : escaped,
                    "\n");
  }
  return body;
}

// The examples of a command, or what else stands at its end.
std::string Footer(const std::string& text) {
  return text.empty() ? ""
                      : absl::StrCat(".PP\n", text.front() == ' ' ? "Examples:\n" : "", Body(text));
}

std::string FlagEntry(const CLI::Option& option, const std::string& names, const Value& value) {
  std::string text = absl::StrCat(".TP\n\\fB", names, "\\fR");
  if (!option.get_positional() && !value.type.empty())
    absl::StrAppend(&text, " \\fI", Escape(value.type), "\\fR");
  absl::StrAppend(&text, "\n",
                  Escape(absl::StrReplaceAll(option.get_description(), {{"\n", " "}})));
  if (option.get_required()) text += " (required)";
  const std::string fallback = value.type.empty() ? "" : option.get_default_str();
  return absl::StrCat(text, fallback.empty() ? "" : absl::StrCat(" [", Escape(fallback), "]"),
                      "\n");
}

// The app at `path`, as " ledger create" (empty for the program), and all below it.
void Walk(const CLI::App& app, const std::string& program, const std::string& path, Made& made) {
  std::vector<std::string> words, commands;  // dashed names; names of the commands below
  std::string values, argument;              // in bash: what follows each flag, or none
  std::string synopsis, arguments, flags;    // of the man page
  for (const CLI::Option* option : app.get_options()) {
    const Value value = ValueOf(*option);
    if (option->get_positional()) {
      const std::string name = Escape(option->get_name(true));
      absl::StrAppend(&synopsis, "\\fI", name, "\\fR\n");
      arguments += FlagEntry(*option, name, value);
      if (argument.empty()) argument = value.bash;
      continue;
    }
    std::vector<std::string> names;
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    flags += FlagEntry(*option, Escape(absl::StrJoin(names, ", ")), value);
    words.insert(words.end(), names.begin(), names.end());
    if (!value.type.empty()) {
      absl::StrAppend(&values, "        ", absl::StrJoin(names, "|"), ") ", value.bash, " ;;\n");
    }
  }
  for (const CLI::App* command : app.get_subcommands({})) commands.push_back(command->get_name());
  if (!commands.empty()) argument = absl::StrCat("words='", absl::StrJoin(commands, " "), "'");
  absl::StrAppend(&made.cases, "    '", path, "')\n      case $previous in\n", values,
                  "        *) case $current in -*) words='", absl::StrJoin(words, " "), "' ;; *) ",
                  argument, " ;; esac ;;\n      esac ;;\n");

  synopsis = absl::StrCat(".B ", Escape(program + path), "\n", synopsis,
                          words.empty() ? "" : "[\\fIOPTION\\fR]...\n",
                          commands.empty() ? "" : "[\\fICOMMAND\\fR]\n");
  const std::string about = Body(app.get_description()), footer = Footer(app.get_footer());
  if (path.empty()) {
    absl::StrAppend(&made.sections, ".SH SYNOPSIS\n", synopsis, ".SH DESCRIPTION\n", about, footer,
                    ".SH OPTIONS\n", arguments, flags, commands.empty() ? "" : ".SH COMMANDS\n");
  } else {
    absl::StrAppend(&made.paths, "|'", path, "'");
    absl::StrAppend(&made.sections, ".SS ", Escape(program + path), "\n", about, ".PP\n", synopsis,
                    arguments, flags, footer);
  }
  for (const CLI::App* command : app.get_subcommands({}))
    Walk(*command, program, absl::StrCat(path, " ", command->get_name()), made);
}

Made MadeOf(const CLI::App& app) {
  Made made;
  Walk(app, app.get_name(), "", made);
  return made;
}

std::string BashCompletionOf(const App& app) {
  const Made made = MadeOf(app.cli());
  const std::string& program = app.get_name();
  const std::string function = absl::StrCat("_", absl::StrReplaceAll(program, {{"-", "_"}}));
  return absl::StrCat("# Made by `", program, " completion bash`.\n", function, R"(() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local path= words= files= i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$path ${COMP_WORDS[i]}" in
      )",
                      made.paths, R"() path+=" ${COMP_WORDS[i]}" ;;
    esac
  done
  case $path in
)",
                      made.cases, R"(  esac
  if [[ $files ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen "$files" -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  fi
}
complete -F )",
                      function, " ", program, "\n");
}

// UTF-8: `man` and mandoc read that.
std::string ManPageOf(const App& app, const ManPage& page) {
  const std::string program = Escape(app.get_name());
  std::string about = app.cli().get_description();
  about.resize(std::min(about.find('\n'), about.size()));
  if (about.ends_with('.')) about.pop_back();
  return absl::StrReplaceAll(
      absl::StrCat(".TH ", absl::AsciiStrToUpper(program), " ", page.section, " \"\" \"",
                   Escape(page.version), "\" \"", Escape(page.manual), "\"\n.SH NAME\n", program,
                   " \\- ", Escape(about), "\n", MadeOf(app.cli()).sections),
      {{".PP\n.PP\n", ".PP\n"}});
}

}  // namespace

void AddReferenceCommands(App& app, const Describe& describe, const ManPage& page,
                          std::function<std::string()>& chosen) {
  const std::string& name = app.get_name();
  App* const completion =
      app.add_subcommand("completion", "Prints what completes this program's commands in bash.");
  completion->footer("  source <(" + name + " completion bash)");
  const auto shell = std::make_shared<std::string>();
  completion
      ->add_option(
          "SHELL", [shell](const std::string& given) { *shell = given; }, "which shell")
      ->required()
      ->check(IsMember({"bash"}))
      ->option_text("{bash}");
  completion->callback(
      [describe, &chosen] { chosen = [describe] { return describe(BashCompletionOf); }; });
  App* const man = app.add_subcommand("man", "Prints this program's man page.");
  man->footer("  " + name + " man | man -l -");
  man->callback([describe, page, &chosen] {
    chosen = [describe, page] {
      return describe([page](const App& whole) { return ManPageOf(whole, page); });
    };
  });
}

std::optional<int> RunReferenceCommand(int argc, char** argv, const App& app, const ManPage& page) {
  const std::string_view first = argc < 2 ? "" : argv[1];
  if (first != "completion" && first != "man") return std::nullopt;
  std::function<std::string()> chosen;
  App commands("", app.get_name());
  const auto describe = [&app](const std::function<std::string(const App&)>& make) {
    return make(app);
  };
  AddReferenceCommands(commands, describe, page, chosen);
  try {
    commands.parse(argc, argv);
  } catch (const ParseError& error) {
    return commands.exit(error) == 0 ? 0 : 2;
  }
  std::cout << (chosen ? chosen() : "") << std::flush;
  return std::cout ? 0 : 1;
}

}  // namespace dpledger::flags
