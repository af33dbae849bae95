// Which ledgers go on, whichever server writes to them. The registry is the feed: every head that
// is signed is registered. What is not signed yet is looked at as long as it is not, by name and
// size. So appends write nothing for those who follow, and who follows reads no more heads than
// have changed.
//
// Functions; thread safe.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "ledger_store/postgres/database.h"
#include "ledger_store/store.h"

namespace dpledger::postgres {

// As LedgerStore::Changed; `since` is a length of the registry.
absl::StatusOr<ChangedLedgers> ReadChanged(Database& database, uint64_t since, size_t limit,
                                           const WriterRange& writers, const KnownSizes& known);
absl::StatusOr<uint64_t> ReadChangesEnd(Database& database);

}  // namespace dpledger::postgres
