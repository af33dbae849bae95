// The commands. Each function adds its commands to the parser. If a command line names one of them
// and its flags are valid, parsing stores the command's action in `chosen`.
#pragma once

#include <functional>

#include "absl/status/status.h"
#include "cli/output.h"
#include "flags/app.h"

namespace dpledger::cli {

using Command = std::function<absl::Status(Output&)>;

// epsilon, delta, tuning.
void AddQuestionCommands(flags::App& app, Command& chosen);
void AddProfileCommand(flags::App& app, Command& chosen);
// recompute start, list, show, cancel.
void AddRecomputeCommands(flags::App& app, Command& chosen);
void AddStatementCommand(flags::App& app, Command& chosen);
void AddAuditCommand(flags::App& app, Command& chosen);
void AddCalibrateCommand(flags::App& app, Command& chosen);
// ledger create, append, show, read, seal, and the commands below.
void AddLedgerCommands(flags::App& app, Command& chosen);
// ledger list, datasets, watch.
void AddListCommands(flags::App& ledger, Command& chosen);
// ledger fork, note, correct.
void AddLedgerEntryCommands(flags::App& ledger, Command& chosen);
void AddRetireCommand(flags::App& budget, Command& chosen);
// ledger seal, export, verify, import.
void AddSealCommand(flags::App& ledger, Command& chosen);
void AddExportCommand(flags::App& ledger, Command& chosen);
void AddVerifyCommand(flags::App& ledger, Command& chosen);
void AddImportCommand(flags::App& ledger, Command& chosen);
// budget create, show, fits, grant, and the command below.
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
