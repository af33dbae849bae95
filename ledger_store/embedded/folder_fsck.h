// Checks the folder of an embedded store without changing it: every block of its table files, its
// logs, whether RocksDB opens it with all that was synced, and then what it reads there
// (ledger_store/evidence/fsck.h). What a server would not open is not looked into.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "ledger_store/evidence/fsck.h"

namespace dpledger::embedded {

// NOT_FOUND if there is no store; FAILED_PRECONDITION if a server has it open (STORE_IN_USE) or it
// has another format; errors of the disk. Everything else is a finding in `report`.
absl::Status FsckFolder(const std::string& folder, const FsckOptions& options, FsckReport& report);

}  // namespace dpledger::embedded
