// dpledger: privacy questions and ledgers from the command line.
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/process_start.h"
#include "cli/commands.h"
#include "cli/difference_advice.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "flags/app.h"
#include "flags/mistyped.h"
#include "flags/reference.h"
#include "questions/answers.h"

namespace dpledger::cli {
namespace {

constexpr char kServe[] = "serve";

// Becomes the dpledger-server beside this program, with the arguments after "serve". Returns only
// on an error.
absl::Status Serve(char** arguments) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return ErrnoError(error.value(), "read", "/proc/self/exe");
  std::string server = self.parent_path() / "dpledger-server";
  std::vector<char*> values = {server.data()};
  for (; *arguments != nullptr; ++arguments) values.push_back(*arguments);
  values.push_back(nullptr);
  execv(server.c_str(), values.data());
  return ErrnoError(errno, "run", server);
}

// `text`: what a chosen command prints as it is.
void Describe(flags::App& app, Command& chosen, std::function<std::string()>& text) {
  app.ShowExamplesFirst();
  app.footer(
      "  dpledger epsilon --noise-multiplier 1 --sampling-probability .01 --steps 10000 "
      "--delta 1e-5\n"
      "  dpledger epsilon --delta 1e-5 --events run.jsonl\n"
      "  dpledger calibrate --epsilon 1 --delta 1e-6 --solve noise-multiplier "
      "--sampling-probability 0.005 --steps 20000\n"
      "  dpledger serve --listen 127.0.0.1:7070 --store var/store\n"
      "  dpledger ledger show mnist --server 127.0.0.1:7070\n"
      "\n"
      "Exit codes: 0 ok, 1 failure or refusal, 2 wrong flags, 3 a claim is refuted,\n"
      "4 not authorised, 5 a filter or a budget does not allow it, 6 server unreachable,\n"
      "130 interrupted.");
  app.set_version_flag("--version", questions::Version());
  app.require_subcommand(0, 1);  // more than one is an error; none is told below, better
  AddQuestionCommands(app, chosen);
  AddProfileCommand(app, chosen);
  AddStatementCommand(app, chosen);
  AddStatementsCommands(app, chosen);
  AddAuditCommand(app, chosen);
  AddCalibrateCommand(app, chosen);
  AddLedgerCommands(app, chosen);
  AddAttentionCommand(app, chosen);
  AddAcknowledgeCommand(app, chosen);
  AddBudgetCommands(app, chosen);
  AddRegistryCommands(app, chosen);
  AddRecomputeCommands(app, chosen);
  AddAdminCommands(app, chosen);
  AddSpoolCommands(app, chosen);
  app.add_subcommand(kServe, "Runs the server; every flag after it is the server's own.");
  flags::AddReferenceCommands(
      app, [&app](const std::function<std::string(const flags::App&)>& make) { return make(app); },
      {.section = "1",
       .version = absl::StrCat("dpledger ", questions::Version()),
       .manual = "User Commands"},
      text);
}

int Main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  Output out(std::find(arguments.begin(), arguments.end(), "--json") != arguments.end());
  // The server has its own flags and its own help.
  if (!arguments.empty() && arguments[0] == kServe) {
    const absl::Status status = Serve(argv + 2);
    out.Error(status);
    return ExitCodeOf(status);
  }
  EndOnInterrupt();

  Command chosen;
  std::function<std::string()> text;
  flags::App app("Privacy accounting: what a differentially private run cost, and its ledger.",
                 "dpledger");
  Describe(app, chosen, text);
  try {
    app.parse(argc, argv);
  } catch (const flags::Success& help) {
    return app.exit(help);
  } catch (const flags::ParseError& error) {
    // A mistyped flag is also a missing one; the parser would complain of what is missing.
    const std::string mistyped = flags::Mistyped(app);
    out.Error(absl::InvalidArgumentError(mistyped.empty() ? error.what() : mistyped));
    return kExitUsage;
  }
  if (text) {
    chosen = [&text](Output&) {
      std::cout << text();
      return absl::OkStatus();
    };
  }
  if (!chosen) {
    out.Error(absl::InvalidArgumentError("a command is missing; --help lists them"));
    return kExitUsage;
  }
  absl::Status status = WithAdvice(chosen(out));
  if (status.ok() && !out.Flush()) status = absl::DataLossError("stdout: not all was written");
  if (!status.ok()) out.Error(status);
  return ExitCodeOf(status);
}

}  // namespace
}  // namespace dpledger::cli

int main(int argc, char** argv) {
  dpledger::BeginProcess();
  return dpledger::cli::Main(argc, argv);
}
