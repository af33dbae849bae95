// Reads everything in the folder of an embedded store, whether the store opens or not, and reports
// every fault: in the files, in their records, between the records (ledger_store/evidence/fsck.h),
// and between these records and what RocksDB reads.
//
// Changes nothing in the folder.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "ledger_store/evidence/fsck.h"

namespace dpledger::embedded {

// NOT_FOUND if there is no store; FAILED_PRECONDITION if a server has it open (STORE_IN_USE) or it
// has another format; errors of the disk. Everything else is a finding in `report`.
absl::Status FsckFolder(const std::string& folder, const FsckOptions& options, FsckReport& report);

}  // namespace dpledger::embedded
