// What every example program has: domains of its flags, a way to stop it, its exit code.
#pragma once

#include <atomic>
#include <string>

#include "absl/status/statusor.h"
#include "flags/app.h"

namespace dpledger::examples {

// Lets no NaN through, which flags::Range does.
flags::Validator Between(double least, double most);
flags::Validator InOpenUnitInterval();

// A number in [least, most]; its default is in the help.
template <typename T>
flags::Option* AddNumber(flags::App& app, const std::string& flag, T& value, double least,
                         double most, const std::string& help) {
  return app.add_option(flag, value, help)->check(Between(least, most))->capture_default_str();
}

// Set by the first Ctrl-C (or SIGTERM) after StopOnInterrupt, which says so on stderr; the second
// one ends the program.
extern std::atomic<bool> stop;
void StopOnInterrupt();

// Prints an error as "<program>: CODE: message". The command line's own exit codes: 6 says that the
// server was not reached.
int ExitCode(const char* program, const absl::StatusOr<int>& result);

// A whole program: its flags, which Flags::AddTo adds and Flags::Check, if there is one, checks
// together (it throws a flags::ValidationError), and what it does with them.
template <typename Flags>
int Main(int argc, char** argv, const char* program, const char* about,
         absl::StatusOr<int> (*run)(const Flags&)) {
  Flags flags;
  flags::App app(about, program);
  flags.AddTo(app);
  try {
    app.parse(argc, argv);
    if constexpr (requires { flags.Check(); }) flags.Check();
  } catch (const flags::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return ExitCode(program, run(flags));
}

}  // namespace dpledger::examples
