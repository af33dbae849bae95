// Writes the heads and counts of the previous key anew under the current one. Thread safe.
#pragma once

#include "absl/status/statusor.h"
#include "ledger_store/postgres/database.h"
#include "ledger_store/store.h"

namespace dpledger::postgres {

// As LedgerStore::RenewHeads. Several servers may do it at once.
absl::StatusOr<uint64_t> RenewHeads(Database& database);

}  // namespace dpledger::postgres
