// Reads entries of ledgers. Thread safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ledger_store/postgres/database.h"

namespace dpledger::postgres {

// As LedgerStore::Read. Checks every chunk's hash, and that no chunk is missing.
absl::StatusOr<std::vector<std::string>> ReadEntries(Database& database, const std::string& name,
                                                     uint64_t first, size_t max_entries,
                                                     size_t max_bytes);

}  // namespace dpledger::postgres
