// Reads heads and entries of ledgers. Thread safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ledger/ledger_head.h"
#include "ledger_store/postgres/database.h"

namespace dpledger::postgres {

// NOT_FOUND (LEDGER_NOT_FOUND) if there is none.
absl::StatusOr<LedgerHead> ReadHead(Database& database, const std::string& name);

// As LedgerStore::Read. Checks every chunk's hash, and that no chunk is missing.
absl::StatusOr<std::vector<std::string>> ReadEntries(Database& database, const std::string& name,
                                                     uint64_t first, size_t max_entries,
                                                     size_t max_bytes);

}  // namespace dpledger::postgres
