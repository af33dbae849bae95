// Heads that the current key has not authenticated, under it. Functions; thread safe.
#pragma once

#include "absl/status/status.h"
#include "ledger_store/embedded/ledger_table.h"
#include "rocksdb/write_batch.h"

namespace dpledger::embedded {

// Adds a row for each of `table`'s ledgers `to_renew`. DATA_LOSS if a ledger lacks the server's own
// writer. Precondition: the table has a current key.
absl::Status AddRenewedHeads(const LedgerTable& table, rocksdb::WriteBatch& batch);

}  // namespace dpledger::embedded
