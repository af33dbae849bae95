// Reads the ends of many ledgers in two statements. Thread safe.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "ledger_store/postgres/database.h"
#include "ledger_store/store.h"

namespace dpledger::postgres {

// As LedgerStore::ReadTails. Checks every chunk's hash, and that none is missing.
absl::StatusOr<std::vector<Tail>> ReadTails(Database& database,
                                            const std::vector<TailRange>& ranges);

}  // namespace dpledger::postgres
