// Writes heads and counts anew under the current key: those of an older version and of the previous
// key. Thread safe.
#pragma once

#include "absl/status/statusor.h"
#include "ledger_store/postgres/database.h"
#include "ledger_store/store.h"

namespace dpledger::postgres {

// As LedgerStore::RenewHeads. Several servers may do it at once.
absl::StatusOr<RenewedHeads> RenewHeads(Database& database);

}  // namespace dpledger::postgres
