// Reads entries of ledgers. Thread safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ledger_store/embedded/ledger_table.h"
#include "rocksdb/db.h"

namespace dpledger::embedded {

// As LedgerStore::Read, of a ledger as `record` has it. DATA_LOSS if an entry is missing or cut
// short; UNAVAILABLE for an error of the disk.
absl::StatusOr<std::vector<std::string>> ReadEntries(rocksdb::DB& db, const LedgerRecord& record,
                                                     uint64_t first, size_t max_entries,
                                                     size_t max_bytes);

}  // namespace dpledger::embedded
