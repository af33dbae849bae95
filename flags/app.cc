#include "flags/app.h"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <iostream>
#include <optional>
#include <sstream>
#include <string_view>
#include <type_traits>
#include <utility>

namespace dpledger::flags {
namespace {

// The parser by itself takes what a slip of the keyboard makes of a line: a quote that is not
// closed for a part of the text, a name alone for "true".
class OneFlagALine : public CLI::ConfigTOML {
 public:
  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override {
    std::string line, all;
    for (int number = 1; std::getline(input, line); ++number) {
      if (number == 1 && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);  // of some editors
      const size_t begin = line.find_first_not_of(" \t\r"), equals = line.find('=');
      all += line + '\n';
      if (begin == std::string::npos || line[begin] == '#') continue;
      const size_t value = line.find_first_not_of(" \t\r", equals + 1);
      const bool is_open = equals != std::string::npos && value != std::string::npos &&
                           (line[value] == '"' || line[value] == '\'') &&
                           line.find(line[value], value + 1) == std::string::npos;
      if (equals == std::string::npos || equals == begin || is_open) {
        throw CLI::ConfigError("line " + std::to_string(number) + ": must be FLAG = VALUE" +
                               (is_open ? ", whose quote is closed" : ""));
      }
    }
    std::istringstream checked(all);
    return CLI::ConfigTOML::from_config(checked);
  }
};

class ExamplesFirst : public CLI::Formatter {
 public:
  std::string make_description(const CLI::App* app) const override {
    return CLI::Formatter::make_description(app) + "\n" + app->get_footer() + "\n\n";
  }
  std::string make_footer(const CLI::App* /*app*/) const override { return ""; }
};

constexpr std::string_view kUnknownKey = "INI was not able to parse ";  // CLI11's words

constexpr char kNotEmpty[] = "not empty";

// "$UNSET" of a script must not read as a flag that was left out.
CLI::Option* RefuseEmpty(CLI::Option* option) {
  return option->check(
      [](const std::string& text) { return std::string(text.empty() ? "must not be empty" : ""); },
      "", kNotEmpty);
}

}  // namespace

ParseError::ParseError(const CLI::ParseError& error)
    : std::runtime_error(error.what()), cause_(std::make_shared<CLI::ParseError>(error)) {}
ValidationError::ValidationError(const std::string& flag, const std::string& rule)
    : ParseError(flag + ": " + rule) {}
RequiredError::RequiredError(const std::string& flag) : ParseError(flag + " is required") {}

Validator::Validator(const CLI::Validator& of) : of_(std::make_shared<CLI::Validator>(of)) {}
Validator::Validator(std::function<std::string(const std::string&)> check,
                     const std::string& domain)
    : Validator(CLI::Validator(
          [check = std::move(check)](std::string& text) { return check(text); }, domain)) {}
Validator Range(int least, int most) { return Validator(CLI::Range(least, most)); }
Validator Range(double least, double most) { return Validator(CLI::Range(least, most)); }
Validator IsMember(const std::vector<std::string>& words) {
  return Validator(CLI::IsMember(words));
}
Validator ExistingFile() { return Validator(CLI::ExistingFile); }

Option* Option::check(const Validator& domain) {
  of_->check(*domain.of_);
  return this;
}
Option* Option::check(const std::function<std::string(const std::string&)>& rule) {
  of_->check(rule);
  return this;
}
Option* Option::required() {
  of_->required();
  return this;
}
Option* Option::type_name(const std::string& name) {
  of_->type_name(name);
  return this;
}
Option* Option::capture_default_str() {
  of_->capture_default_str();
  return this;
}
Option* Option::needs(Option* other) {
  of_->needs(other->of_);
  return this;
}
Option* Option::excludes(Option* other) {
  of_->excludes(other->of_);
  return this;
}
Option* Option::excludes(const std::string& other) {
  of_->excludes(other);
  return this;
}
Option* Option::delimiter(char mark) {
  of_->delimiter(mark);
  return this;
}
Option* Option::description(const std::string& text) {
  of_->description(text);
  return this;
}
Option* Option::option_text(const std::string& text) {
  of_->option_text(text);
  return this;
}
Option* Option::may_be_empty() {
  of_->get_validator(kNotEmpty)->active(false);
  return this;
}
size_t Option::count() const { return of_->count(); }

App::App(const std::string& description, const std::string& name)
    : own_(std::make_unique<CLI::App>(description, name)), of_(own_.get()) {}
App::App(CLI::App* of) : of_(of) {}
App::~App() = default;

Option* App::Kept(CLI::Option* option) {
  return options_.emplace_back(std::make_unique<Option>(option)).get();
}

template <typename T>
Option* App::add_option(const std::string& flag, T& value, const std::string& help) {
  CLI::Option* const option = of_->add_option(flag, value, help);
  constexpr bool is_text =
      std::is_same_v<T, std::string> || std::is_same_v<T, std::vector<std::string>>;
  return Kept(is_text ? RefuseEmpty(option) : option);
}
template Option* App::add_option(const std::string&, std::string&, const std::string&);
template Option* App::add_option(const std::string&, double&, const std::string&);
template Option* App::add_option(const std::string&, int&, const std::string&);
template Option* App::add_option(const std::string&, int64_t&, const std::string&);
template Option* App::add_option(const std::string&, uint32_t&, const std::string&);
template Option* App::add_option(const std::string&, uint64_t&, const std::string&);
template Option* App::add_option(const std::string&, std::optional<double>&, const std::string&);
template Option* App::add_option(const std::string&, std::vector<std::string>&, const std::string&);
template Option* App::add_option(const std::string&, std::vector<double>&, const std::string&);
template Option* App::add_option(const std::string&, std::vector<uint64_t>&, const std::string&);

Option* App::add_option(const std::string& flag,
                        const std::function<void(const std::string&)>& take,
                        const std::string& help) {
  return Kept(RefuseEmpty(of_->add_option_function<std::string>(flag, take, help)));
}
Option* App::add_option(const std::string& flag,
                        const std::function<void(const std::vector<std::string>&)>& take,
                        const std::string& help) {
  return Kept(RefuseEmpty(of_->add_option_function<std::vector<std::string>>(flag, take, help)));
}
Option* App::add_flag(const std::string& flag, bool& value, const std::string& help) {
  return Kept(of_->add_flag(flag, value, help));
}
Option* App::add_flag(const std::string& flag) { return Kept(of_->add_flag(flag)); }
App* App::add_subcommand(const std::string& name, const std::string& description) {
  commands_.emplace_back(new App(of_->add_subcommand(name, description)));
  return commands_.back().get();
}
App* App::add_option_group(const std::string& name, const std::string& description) {
  commands_.emplace_back(new App(of_->add_option_group(name, description)));
  return commands_.back().get();
}
Option* App::get_option(const std::string& flag) { return Kept(of_->get_option(flag)); }
size_t App::count(const std::string& flag) const { return of_->count(flag); }

App* App::callback(std::function<void()> chosen) {
  of_->callback(std::move(chosen));
  return this;
}
App* App::parse_complete_callback(std::function<void()> parsed) {
  of_->parse_complete_callback(std::move(parsed));
  return this;
}
App* App::description(const std::string& text) {
  of_->description(text);
  return this;
}
App* App::footer(const std::string& text) {
  of_->footer(text);
  return this;
}
App* App::require_subcommand(int least, int most) {
  of_->require_subcommand(least, most);
  return this;
}
App* App::require_option(int count) {
  of_->require_option(count);
  return this;
}
void App::set_version_flag(const std::string& flag, const std::string& version) {
  of_->set_version_flag(flag, version);
}
Option* App::set_config(const std::string& flag, const std::string& help) {
  of_->allow_config_extras(CLI::config_extras_mode::error);
  of_->config_formatter(std::make_shared<OneFlagALine>());
  return Kept(RefuseEmpty(of_->set_config(flag, "", help)));
}
void App::ShowExamplesFirst() {
  const auto formatter = std::make_shared<ExamplesFirst>();
  formatter->column_width(34);
  of_->formatter(formatter);
}

const std::string& App::get_name() const { return of_->get_name(); }
std::vector<const App*> App::commands() const {
  std::vector<const App*> all;
  for (const auto& command : commands_) all.push_back(command.get());
  return all;
}

void App::parse(int argc, const char* const* argv) {
  try {
    of_->parse(argc, argv);
  } catch (const CLI::Success& help) {
    throw Success(help);
  } catch (const CLI::ConfigError& error) {
    std::string why = error.what();
    if (why.starts_with(kUnknownKey)) why.replace(0, kUnknownKey.size(), "no flag ");
    throw ParseError(CLI::ConfigError(of_->get_config_ptr()->get_name() + ": " + why));
  } catch (const CLI::ParseError& error) {
    throw ParseError(error);
  }
}
int App::exit(const ParseError& error) const {
  const int code = error.cause_ != nullptr
                       ? of_->exit(*error.cause_)
                       : of_->exit(CLI::ValidationError(std::string(error.what())));
  return code == 0 && !std::cout.flush() ? 1 : code;  // help that nobody got
}

}  // namespace dpledger::flags
