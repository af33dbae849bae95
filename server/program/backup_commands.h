// `dpledger-server backup` and `restore`.
#pragma once

#include <functional>

#include "flags/app.h"

namespace dpledger::server {

// Adds both. The one that is given on the command line leaves in `chosen` what runs it and gives
// the exit code. `chosen` must outlive the app.
void AddBackupCommands(flags::App& app, std::function<int()>& chosen);

}  // namespace dpledger::server
