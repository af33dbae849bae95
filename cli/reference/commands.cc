#include <iostream>
#include <memory>
#include <string_view>

#include "cli/reference/reference.h"

namespace dpledger::cli {

void AddReferenceCommands(CLI::App& app, const Describe& describe, const ManPage& page,
                          std::function<std::string()>& chosen) {
  const auto shell = std::make_shared<std::string>();
  const std::string& name = app.get_name();
  CLI::App* const completion =
      app.add_subcommand("completion", "Prints what completes this program's commands in a shell.");
  completion->footer("  source <(" + name + " completion bash)\n  " + name +
                     " completion fish > ~/.config/fish/completions/" + name + ".fish");
  completion->add_option("SHELL", *shell, "which shell")
      ->required()
      ->type_name("{bash,zsh,fish}")
      ->check([](const std::string& given) {
        return given == "bash" || given == "zsh" || given == "fish"
                   ? std::string()
                   : "must be bash, zsh or fish, got " + given;
      });
  completion->callback([shell, describe, &chosen] {
    chosen = [shell, describe] {
      return describe(*shell == "bash"  ? BashCompletionOf
                      : *shell == "zsh" ? ZshCompletionOf
                                        : FishCompletionOf);
    };
  });
  CLI::App* const man = app.add_subcommand("man", "Prints this program's man page.");
  man->footer("  " + name + " man | man -l -");
  man->callback([describe, page, &chosen] {
    chosen = [describe, page] {
      return describe([page](const CLI::App& whole) { return ManPageOf(whole, page); });
    };
  });
}

std::optional<int> RunReferenceCommand(int argc, char** argv, const CLI::App& app,
                                       const ManPage& page) {
  const std::string_view first = argc < 2 ? "" : argv[1];
  if (first != "completion" && first != "man") return std::nullopt;
  std::function<std::string()> chosen;
  CLI::App commands("", app.get_name());
  const auto describe = [&app](const std::function<std::string(const CLI::App&)>& make) {
    return make(app);
  };
  AddReferenceCommands(commands, describe, page, chosen);
  try {
    commands.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return commands.exit(error) == 0 ? 0 : 2;
  }
  std::cout << (chosen ? chosen() : "") << std::flush;
  return std::cout ? 0 : 1;
}

}  // namespace dpledger::cli
