// Opens the store that the flags name: a folder, or a PostgreSQL database.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "ledger/stored_head.h"
#include "ledger_store/store.h"
#include "server/log.h"

namespace dpledger::server {

// Names the store in the log: the folder, or "PostgreSQL"; never the connection string.
std::string DescribeStore(const std::string& folder, const std::string& postgres_file);

// Makes the store's folder if there is none. Whether it is empty: there is no store yet. A database
// is never said to be empty.
absl::StatusOr<bool> MakeFolder(const std::string& folder, const std::string& postgres_file);

// Opens the database whose connection string is in `postgres_file`. If that is empty, opens
// `folder`. `keys` are those of the heads. FAILED_PRECONDITION
// if others than its owner can read the file; errors of the engine. The file is read again for each
// connection; `log`, which must outlive the store, is told when it says something else.
absl::StatusOr<std::unique_ptr<LedgerStore>> OpenStore(const std::string& folder,
                                                       const std::string& postgres_file,
                                                       const HeadKeys& keys,
                                                       const Log* log = nullptr);

}  // namespace dpledger::server
