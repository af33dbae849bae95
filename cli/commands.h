// The commands. Each function adds its commands to the parser. If a command line names one of them
// and its flags are valid, parsing stores the command's action in `chosen`.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "cli/output.h"
#include "flags/app.h"

namespace dpledger::cli {

using Command = std::function<absl::Status(Output&)>;

// Adds a command that has --json and no other flag yet. `examples` are lines of shell, in the help
// before the flags.
flags::App& AddCommand(flags::App& parent, const std::string& name, const std::string& description,
                       const std::string& examples);

// Adds a command that does `run` with its flags: those that Flags::AddTo adds, if there is one, and
// those that are added to them here. They hold to Flags::Check, if there is one, before `run`.
template <typename Flags>
std::pair<flags::App&, Flags&> AddCommand(flags::App& parent, const std::string& name,
                                          const std::string& description,
                                          const std::string& examples,
                                          absl::Status (*run)(const Flags&, Output&),
                                          Command& chosen) {
  flags::App& command = AddCommand(parent, name, description, examples);
  const auto flags = std::make_shared<Flags>();
  if constexpr (requires { flags->AddTo(command); }) flags->AddTo(command);
  command.callback([flags, run, &chosen] {
    if constexpr (requires { flags->Check(); }) flags->Check();
    chosen = [flags, run](Output& out) { return run(*flags, out); };
  });
  return {command, *flags};
}

// Adds a command that does nothing but have commands: without one, main() tells what is missing.
flags::App& AddGroup(flags::App& parent, const std::string& name, const std::string& description,
                     const std::string& examples);

// epsilon, delta, tuning.
void AddQuestionCommands(flags::App& app, Command& chosen);
void AddProfileCommand(flags::App& app, Command& chosen);
// recompute start, list, show, cancel.
void AddRecomputeCommands(flags::App& app, Command& chosen);
void AddStatementCommand(flags::App& app, Command& chosen);
// statements list, check, withdraw.
void AddStatementsCommands(flags::App& app, Command& chosen);
void AddAuditCommand(flags::App& app, Command& chosen);
void AddCalibrateCommand(flags::App& app, Command& chosen);
// ledger create, append, show, read, seal, and the commands below.
void AddLedgerCommands(flags::App& app, Command& chosen);
// ledger list, datasets, watch.
void AddListCommands(flags::App& ledger, Command& chosen);
void AddBudgetListCommand(flags::App& budget, Command& chosen);
void AddAttentionCommand(flags::App& app, Command& chosen);
void AddAcknowledgeCommand(flags::App& app, Command& chosen);
// ledger fork, note, correct.
void AddLedgerEntryCommands(flags::App& ledger, Command& chosen);
void AddRetireCommand(flags::App& budget, Command& chosen);
// ledger seal, export, verify, import.
void AddSealCommand(flags::App& ledger, Command& chosen);
void AddExportCommand(flags::App& ledger, Command& chosen);
void AddVerifyCommand(flags::App& ledger, Command& chosen);
void AddImportCommand(flags::App& ledger, Command& chosen);
// budget create, show, fits, grant, and the commands above and below.
void AddBudgetCommands(flags::App& app, Command& chosen);
void AddBudgetVerifyCommand(flags::App& budget, Command& chosen);
// registry follow, check.
void AddRegistryCommands(flags::App& app, Command& chosen);
// admin token create, list, rotate, revoke.
void AddAdminCommands(flags::App& app, Command& chosen);
void AddAccessCommand(flags::App& admin, Command& chosen);
// spool import.
void AddSpoolCommands(flags::App& app, Command& chosen);

}  // namespace dpledger::cli
