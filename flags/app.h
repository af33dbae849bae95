// The flags of a program. The parser is CLI11, whose header takes seconds of every source that
// includes it: only this room does. Names and meaning are CLI11's, errors are this header's.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
class ParseError;
class Validator;
}  // namespace CLI

namespace dpledger::flags {

// Why parsing ended.
class ParseError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  explicit ParseError(const CLI::ParseError& error);

 private:
  friend class App;
  std::shared_ptr<const CLI::ParseError> cause_;  // null: thrown by the program
};
// --help or --version was given.
class Success : public ParseError {
 public:
  using ParseError::ParseError;
};
// "<flag>: <rule>"
class ValidationError : public ParseError {
 public:
  ValidationError(const std::string& flag, const std::string& rule);
};
class RequiredError : public ParseError {
 public:
  explicit RequiredError(const std::string& flag);
};

// The domain of a value.
class Validator {
 public:
  // `check` returns what is wrong with a text, or nothing; `domain` is for the help.
  Validator(std::function<std::string(const std::string&)> check, const std::string& domain);

 private:
  friend class Option;
  friend Validator Range(int, int);
  friend Validator Range(double, double);
  friend Validator IsMember(const std::vector<std::string>&);
  friend Validator ExistingFile();
  explicit Validator(const CLI::Validator& of);
  std::shared_ptr<const CLI::Validator> of_;
};
Validator Range(int least, int most);
Validator Range(double least, double most);
Validator IsMember(const std::vector<std::string>& words);
template <typename T>
Validator IsMember(const std::map<std::string, T>& choices) {
  std::vector<std::string> words;
  for (const auto& [word, meaning] : choices) words.push_back(word);
  return IsMember(words);
}
Validator ExistingFile();

// A flag of an App, which owns it.
class Option {
 public:
  explicit Option(CLI::Option* of) : of_(of) {}

  Option* check(const Validator& domain);
  // `rule` returns what is wrong with a text, or nothing.
  Option* check(const std::function<std::string(const std::string&)>& rule);
  Option* required();
  Option* type_name(const std::string& name);
  Option* capture_default_str();
  Option* needs(Option* other);
  Option* excludes(Option* other);
  Option* excludes(const std::string& other);
  Option* delimiter(char mark);
  Option* description(const std::string& text);
  Option* option_text(const std::string& text);
  // Of a text: "" is a value too. Else it is an error.
  Option* may_be_empty();
  size_t count() const;

 private:
  CLI::Option* of_;
};

// A program or one of its commands.
class App {
 public:
  App(const std::string& description, const std::string& name);
  ~App();
  App(const App&) = delete;

  // T: std::string, double (optional too), the integers, and vectors of texts and numbers.
  template <typename T>
  Option* add_option(const std::string& flag, T& value, const std::string& help = "");
  Option* add_option(const std::string& flag, const std::function<void(const std::string&)>& take,
                     const std::string& help);
  // All that are given, of a flag that may repeat.
  Option* add_option(const std::string& flag,
                     const std::function<void(const std::vector<std::string>&)>& take,
                     const std::string& help);
  Option* add_flag(const std::string& flag, bool& value, const std::string& help = "");
  Option* add_flag(const std::string& flag);
  App* add_subcommand(const std::string& name, const std::string& description);
  // Options of which require_option() says how many must be given.
  App* add_option_group(const std::string& name, const std::string& description);
  Option* get_option(const std::string& flag);
  size_t count(const std::string& flag) const;

  App* callback(std::function<void()> chosen);
  App* parse_complete_callback(std::function<void()> parsed);
  App* description(const std::string& text);
  App* footer(const std::string& text);
  App* require_subcommand(int least, int most);
  App* require_option(int count);
  void set_version_flag(const std::string& flag, const std::string& version);
  // A file of flags. An unknown one in it is an error.
  Option* set_config(const std::string& flag, const std::string& help);
  // Prints footers, where examples stand, before the usage.
  void ShowExamplesFirst();

  const std::string& get_name() const;
  std::vector<const App*> commands() const;

  // Throws ParseError.
  void parse(int argc, const char* const* argv);
  // Prints the help or the error that parsing ended with; 0 for help that was written.
  int exit(const ParseError& error) const;

  CLI::App& cli() { return *of_; }
  const CLI::App& cli() const { return *of_; }

 private:
  explicit App(CLI::App* of);
  Option* Kept(CLI::Option* option);

  std::unique_ptr<CLI::App> own_;  // null: a command, which its parent owns
  CLI::App* of_;
  std::vector<std::unique_ptr<App>> commands_;
  std::vector<std::unique_ptr<Option>> options_;
};

}  // namespace dpledger::flags
