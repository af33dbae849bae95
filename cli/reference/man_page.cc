#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "cli/reference/parts.h"
#include "cli/reference/reference.h"

namespace dpledger::cli {
namespace {

// Text that roff prints as it is: no escapes, no requests, and dashes that can be copied.
std::string Escape(const std::string& text) {
  std::string escaped = absl::StrReplaceAll(text, {{"\\", "\\e"}, {"-", "\\-"}});
  if (!escaped.empty() && (escaped[0] == '.' || escaped[0] == '\'')) escaped.insert(0, "\\&");
  return escaped;
}

// Paragraphs are filled; lines that begin with a blank stand as they are.
std::string Body(const std::string& text) {
  std::string body;
  bool literal = false;
  bool paragraph = false;
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(text, '\n'))) {
    const bool indented = !line.empty() && line[0] == ' ';
    if (literal && !indented) {
      body += ".fi\n.RE\n";
      literal = false;
    }
    if (line.empty()) {
      paragraph = true;
      continue;
    }
    if (!literal && indented) {
      body += ".PP\n.RS 2\n.nf\n";
      literal = true;
    } else if (!indented && paragraph) {
      body += ".PP\n";
    }
    paragraph = false;
    absl::StrAppend(&body, Escape(literal ? line.substr(line.find_first_not_of(' ')) : line), "\n");
  }
  if (literal) body += ".fi\n.RE\n";
  return body;
}

std::string Flag(const FlagPart& flag) {
  std::vector<std::string> names;
  for (const std::string& name : flag.names) names.push_back("\\fB" + Escape(name) + "\\fR");
  std::string text = absl::StrCat(".TP\n", absl::StrJoin(names, ", "));
  if (!flag.positional && !flag.type.empty())
    absl::StrAppend(&text, " \\fI", Escape(flag.type), "\\fR");
  absl::StrAppend(&text, "\n", Escape(absl::StrReplaceAll(flag.help, {{"\n", " "}})));
  if (flag.required) absl::StrAppend(&text, text.ends_with('\n') ? "" : " ", "(required)");
  if (!flag.fallback.empty()) absl::StrAppend(&text, " [", Escape(flag.fallback), "]");
  return text + "\n";
}

std::string Flags(const CommandPart& part) {
  std::string text;
  for (const FlagPart& flag : part.flags) {
    if (flag.positional) text += Flag(flag);
  }
  for (const FlagPart& flag : part.flags) {
    if (!flag.positional) text += Flag(flag);
  }
  return text;
}

std::string Synopsis(const std::string& program, const CommandPart& part) {
  std::string text = absl::StrCat(".B ", Escape(program));
  if (!part.path.empty()) absl::StrAppend(&text, " ", Escape(part.path));
  text += "\n";
  bool options = false;
  for (const FlagPart& flag : part.flags) {
    if (flag.positional) absl::StrAppend(&text, "\\fI", Escape(flag.names.front()), "\\fR\n");
    options |= !flag.positional;
  }
  if (options) text += "[\\fIOPTION\\fR]...\n";
  if (!part.commands.empty()) text += "[\\fICOMMAND\\fR]\n";
  return text;
}

// Examples, or text.
std::string Footer(const std::string& text) {
  if (text.empty()) return "";
  return absl::StrCat(".PP\n", text.starts_with("  ") ? "Examples:\n" : "", Body(text));
}

}  // namespace

std::string ManPageOf(const CLI::App& app, const ManPage& page) {
  const std::vector<CommandPart> parts = PartsOf(app);
  const CommandPart& program = parts.front();
  const std::string rest =
      program.about.substr(std::min(program.about.find("\n\n"), program.about.size()));
  std::string text =
      absl::StrCat(".TH ", absl::AsciiStrToUpper(Escape(program.name)), " ", page.section,
                   " \"\" \"", Escape(page.version), "\" \"", Escape(page.manual), "\"\n.SH NAME\n",
                   Escape(program.name), " \\- ", Escape(FirstSentence(program.about)), "\n",
                   ".SH SYNOPSIS\n", Synopsis(program.name, program), ".SH DESCRIPTION\n",
                   Body(program.about.substr(0, program.about.size() - rest.size())), Body(rest));
  text += Footer(program.footer);
  absl::StrAppend(&text, ".SH OPTIONS\n", Flags(program));
  if (parts.size() > 1) text += ".SH COMMANDS\n";
  for (const CommandPart& part : parts) {
    if (part.path.empty()) continue;
    absl::StrAppend(&text, ".SS ", Escape(absl::StrCat(program.name, " ", part.path)), "\n",
                    Body(part.about), ".PP\n", Synopsis(program.name, part), Flags(part));
    text += Footer(part.footer);
  }
  return absl::StrReplaceAll(text, {{".PP\n.PP\n", ".PP\n"}});
}

}  // namespace dpledger::cli
