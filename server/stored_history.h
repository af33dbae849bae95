// The run-length table that a store keeps beside a ledger's entries, so that a restarted server
// need not read them all again.
//
//  1. Derived. A table that does not fit the ledger is an error here; HistoryCache then drops it
//     and reads the entries. It answers from a table only if the table's frontier, with the entries
//     after it, leads to the ledger's root hash.
//  2. The frontier ties the table to the entries, and the engine's digest ties it to what was
//     written. Neither proves that its counts are those of the entries: CheckHistory, an audit,
//     counts them again.
//  3. A fork's table covers the fork's own entries only. A copy of another ledger gets a table once
//     it is complete.
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

// The history's table. nullopt if no table is kept of it: for an incomplete copy, a copy of a copy,
// more than 100,000 mechanisms, or a table of more than 16 MiB.
std::optional<v1::StoredHistory> ToStored(const LedgerHistory& history);

// Rebuilds a history from its table; reads the mechanisms from `store`. DATA_LOSS if this version
// cannot have written the table for the ledger's first `table.size()` entries; errors of the store.
absl::StatusOr<LedgerHistory> FromStored(LedgerReader& store, const v1::Ledger& ledger,
                                         const v1::StoredHistory& table);

// For an audit: makes the ledger's table again from the entries, and compares. OK if there is no
// table. DATA_LOSS naming the first difference; errors of GetHistory and ReadOn.
absl::Status CheckHistory(LedgerReader& store, const std::string& ledger,
                          const accountant::Limits& limits = {});

}  // namespace dpledger::server
