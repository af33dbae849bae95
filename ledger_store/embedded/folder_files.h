// Folders of files that a command makes beside a store: made durable, and given to the store's
// owner.
#pragma once

#include <sys/stat.h>

#include <string>

#include "absl/status/status.h"

namespace dpledger::embedded {

// Syncs the folder and the files in it, and gives all of them `like`'s owner, and the folder its
// mode: who runs a command need not be whom the server runs as. Errors carry errno's text.
absl::Status SyncAll(const std::string& folder, const struct stat& like);

}  // namespace dpledger::embedded
