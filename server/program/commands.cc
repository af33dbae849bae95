#include "server/program/commands.h"

#include <algorithm>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "flags/app.h"
#include "flags/reference.h"
#include "questions/answers.h"
#include "server/program/backup_commands.h"
#include "server/program/flags.h"
#include "server/program/store_commands.h"

namespace dpledger::server {
namespace {

constexpr int kUsage = 2;

// `text`: what a chosen command prints as it is.
void AddCommands(flags::App& app, std::function<int()>& chosen,
                 std::function<std::string()>& text) {
  AddBackupCommands(app, chosen);
  AddStoreCommands(app, chosen);
  const auto describe = [](const std::function<std::string(const flags::App&)>& make) {
    std::function<int()> unused;
    std::function<std::string()> no_text;
    flags::App whole("", "dpledger-server");
    AddServerFlags(whole);
    AddCommands(whole, unused, no_text);
    return make(whole);
  };
  flags::AddReferenceCommands(app, describe,
                              {.section = "8",
                               .version = absl::StrCat("dpledger ", questions::Version()),
                               .manual = "System Administration"},
                              text);
}

}  // namespace

std::optional<int> RunCommand(int argc, char** argv) {
  std::function<int()> chosen;
  std::function<std::string()> text;
  flags::App app("dpledger-server", "dpledger-server");
  AddCommands(app, chosen, text);
  const std::vector<const flags::App*> commands = app.commands();
  if (argc < 2 || std::none_of(commands.begin(), commands.end(), [&](const flags::App* command) {
        return command->get_name() == argv[1];
      })) {
    return std::nullopt;
  }
  try {
    app.parse(argc, argv);
  } catch (const flags::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  }
  if (text) {
    std::cout << text() << std::flush;
    return std::cout ? 0 : 1;
  }
  return chosen ? chosen() : kUsage;
}

}  // namespace dpledger::server
