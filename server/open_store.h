// Opens the store that the flags name: a folder, or a PostgreSQL database.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "ledger_store/store.h"

namespace dpledger::server {

// The engine that keeps the ledgers, for the log: the folder, or "PostgreSQL". Never the connection
// string.
std::string DescribeStore(const std::string& folder, const std::string& postgres_file);

// The database whose connection string `postgres_file` holds, or if that is empty the folder, made
// if there is none. FAILED_PRECONDITION if others than its owner can read the file; errors of the
// engine.
absl::StatusOr<std::unique_ptr<LedgerStore>> OpenStore(const std::string& folder,
                                                       const std::string& postgres_file);

}  // namespace dpledger::server
