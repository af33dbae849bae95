#include "cli/reference/parts.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace dpledger::cli {
namespace {

FlagPart PartOf(const CLI::Option& option) {
  FlagPart part;
  part.positional = option.get_positional();
  if (part.positional) part.names.push_back(option.get_name(true));
  for (const std::string& name : option.get_snames()) part.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) part.names.push_back("--" + name);
  part.help = option.get_description();
  part.required = option.get_required();
  part.type = option.get_type_name();
  if (part.type.empty()) return part;
  part.fallback = option.get_default_str();
  const size_t open = part.type.find('{');
  const size_t close = part.type.find('}');
  if (open != std::string::npos && close != std::string::npos && open < close) {
    part.type = part.type.substr(open, close - open + 1);
    part.words = absl::StrSplit(part.type.substr(1, part.type.size() - 2), ',');
    part.kind = ValueKind::kWords;
    return part;
  }
  // CLI::Range adds "TYPE in [a - b]" behind a colon. (HOST:PORT is a type.)
  if (part.type.find(" in [") != std::string::npos) part.type.resize(part.type.find(':'));
  part.kind = part.type == "FILE"     ? ValueKind::kFile
              : part.type == "FOLDER" ? ValueKind::kFolder
                                      : ValueKind::kOther;
  return part;
}

void Collect(const CLI::App& app, const std::string& path, std::vector<CommandPart>& parts) {
  CommandPart part{.path = path,
                   .name = app.get_name(),
                   .about = app.get_description(),
                   .footer = app.get_footer()};
  for (const CLI::Option* option : app.get_options()) part.flags.push_back(PartOf(*option));
  const std::vector<const CLI::App*> commands = app.get_subcommands({});
  for (const CLI::App* command : commands) part.commands.push_back(command->get_name());
  parts.push_back(std::move(part));
  for (const CLI::App* command : commands) {
    Collect(*command, absl::StrCat(path, path.empty() ? "" : " ", command->get_name()), parts);
  }
}

}  // namespace

std::vector<CommandPart> PartsOf(const CLI::App& app) {
  std::vector<CommandPart> parts;
  Collect(app, "", parts);
  return parts;
}

std::string FirstSentence(const std::string& text) {
  std::string line = text.substr(0, text.find("\n\n"));
  line = absl::StrReplaceAll(line, {{"\n", " "}});
  const size_t end = line.find(". ");
  if (end != std::string::npos) line.resize(end);
  if (line.ends_with('.')) line.pop_back();
  return std::string(absl::StripAsciiWhitespace(line));
}

}  // namespace dpledger::cli
