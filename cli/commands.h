// The commands. Each function describes its commands to the parser; parsing a command line that
// names one of them, with flags in their domains, leaves what to do in `chosen`.
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
void AddAuditCommand(CLI::App& app, Command& chosen);
void AddCalibrateCommand(CLI::App& app, Command& chosen);
// ledger create, append, list, show, read, seal, and those below.
void AddLedgerCommands(CLI::App& app, Command& chosen);
// fork, note, correct, of `ledger`.
void AddLedgerEntryCommands(CLI::App& ledger, Command& chosen);
// Of `ledger`.
void AddExportCommand(CLI::App& ledger, Command& chosen);
void AddVerifyCommand(CLI::App& ledger, Command& chosen);
void AddImportCommand(CLI::App& ledger, Command& chosen);
// spool import.
void AddSpoolCommands(CLI::App& app, Command& chosen);

}  // namespace dpledger::cli
