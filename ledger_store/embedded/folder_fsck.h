// Reads everything in the folder of an embedded store, whether it opens or not, and reports what is
// not as it must be: the files by themselves, the records in them, what they say of each other
// (ledger_store/evidence/fsck.h), and whether RocksDB sees in them what is there.
//
// Changes nothing in the folder.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "ledger_store/evidence/fsck.h"

namespace dpledger::embedded {

// NOT_FOUND if there is no store; FAILED_PRECONDITION if a server has it open (STORE_IN_USE) or it
// has another format; errors of the disk. Anything else is a finding.
absl::Status FsckFolder(const std::string& folder, const FsckOptions& options, FsckReport& report);

}  // namespace dpledger::embedded
