// What works on a store that no server has open: fsck, recover.
#pragma once

#include <functional>

#include "flags/app.h"

namespace dpledger::server {

// Adds them. The one that is given on the command line leaves in `chosen` what runs it and gives
// the exit code. `chosen` must outlive the app.
void AddStoreCommands(flags::App& app, std::function<int()>& chosen);

}  // namespace dpledger::server
