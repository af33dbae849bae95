#include "cli/help.h"

namespace dpledger::cli {
namespace {

class ExamplesFirstFormatter : public CLI::Formatter {
 public:
  std::string make_description(const CLI::App* app) const override {
    return CLI::Formatter::make_description(app) + "\n" + app->get_footer() + "\n\n";
  }
  std::string make_footer(const CLI::App* /*app*/) const override { return ""; }
};

}  // namespace

std::shared_ptr<CLI::Formatter> ExamplesFirst() {
  auto formatter = std::make_shared<ExamplesFirstFormatter>();
  formatter->column_width(34);
  return formatter;
}

CLI::App* AddCommand(CLI::App& parent, const std::string& name, const std::string& description,
                     const std::string& examples) {
  CLI::App* command = parent.add_subcommand(name, description);
  command->footer(examples);
  // main() looks for the flag itself: an error of parsing has to know it too.
  command->add_flag("--json")->description("print one JSON object");
  return command;
}

}  // namespace dpledger::cli
