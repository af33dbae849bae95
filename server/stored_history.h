// The run-length table that a store keeps beside a ledger's entries, so that a restarted server
// need not read them all again.
//
//  1. Derived. What of a table does not fit the ledger is an error here, and the reader drops the
//     table and goes back to the entries; only a table whose frontier leads, over the entries after
//     it, to the ledger's root hash is ever answered from (HistoryCache).
//  2. That ties the table to the entries, and the engine's digest to what was written; that the
//     counts in it are those of the entries is what made it, and an audit makes it again:
//     CheckHistory.
//  3. Of a fork, a table has the own entries only. A copy of another ledger has one once it is
//     complete.
// Functions; thread safe.
#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "accountant/limits.h"
#include "dpledger/v1/stored.pb.h"
#include "ledger_store/store.h"
#include "server/ledger_history.h"

namespace dpledger::server {

// Nothing for a history that no table is kept of: of a copy that is not complete or a copy of a
// copy, with more than 100,000 mechanisms, or with so many different rounds that the table would
// have more than 16 MiB.
std::optional<v1::StoredHistory> ToStored(const LedgerHistory& history);

// The history that the table is of, mechanisms read from `store`. DATA_LOSS if the table is not one
// that this version can have written of the ledger's first `table.size()` entries; errors of the
// store.
absl::StatusOr<LedgerHistory> FromStored(LedgerReader& store, const v1::Ledger& ledger,
                                         const v1::StoredHistory& table);

// For an audit: reads the entries that the ledger's table is of, and compares. OK too if there is
// no table. DATA_LOSS naming the first difference, and what GetHistory and ReadOn return.
absl::Status CheckHistory(LedgerReader& store, const std::string& ledger,
                          const accountant::Limits& limits = {});

}  // namespace dpledger::server
