// The commands. Each function adds its commands to the parser. If a command line names one of them
// and its flags are valid, parsing stores the command's action in `chosen`.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "absl/status/status.h"
#include "cli/output.h"

namespace dpledger::cli {

using Command = std::function<absl::Status(Output&)>;

// epsilon, delta, tuning.
void AddQuestionCommands(CLI::App& app, Command& chosen);
void AddProfileCommand(CLI::App& app, Command& chosen);
// recompute start, list, show, cancel.
void AddRecomputeCommands(CLI::App& app, Command& chosen);
void AddStatementCommand(CLI::App& app, Command& chosen);
void AddAuditCommand(CLI::App& app, Command& chosen);
void AddCalibrateCommand(CLI::App& app, Command& chosen);
// ledger create, append, show, read, seal, and the commands below.
void AddLedgerCommands(CLI::App& app, Command& chosen);
// ledger list, datasets, watch.
void AddListCommands(CLI::App& ledger, Command& chosen);
// ledger fork, note, correct.
void AddLedgerEntryCommands(CLI::App& ledger, Command& chosen);
// ledger seal, export, verify, import.
void AddSealCommand(CLI::App& ledger, Command& chosen);
void AddExportCommand(CLI::App& ledger, Command& chosen);
void AddVerifyCommand(CLI::App& ledger, Command& chosen);
void AddImportCommand(CLI::App& ledger, Command& chosen);
// registry follow, check.
void AddRegistryCommands(CLI::App& app, Command& chosen);
// admin token create, list, rotate, revoke.
void AddAdminCommands(CLI::App& app, Command& chosen);
void AddAccessCommand(CLI::App& admin, Command& chosen);
// spool import.
void AddSpoolCommands(CLI::App& app, Command& chosen);

}  // namespace dpledger::cli
