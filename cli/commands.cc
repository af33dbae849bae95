#include "cli/commands.h"

namespace dpledger::cli {

flags::App& AddCommand(flags::App& parent, const std::string& name, const std::string& description,
                       const std::string& examples) {
  flags::App& command = *parent.add_subcommand(name, description);
  command.footer(examples);
  // main() looks for the flag itself: an error of parsing has to know it too.
  command.add_flag("--json")->description("print one JSON object");
  return command;
}

flags::App& AddGroup(flags::App& parent, const std::string& name, const std::string& description,
                     const std::string& examples) {
  flags::App& group = *parent.add_subcommand(name, description);
  group.footer(examples);
  group.require_subcommand(0, 1);
  return group;
}

}  // namespace dpledger::cli
