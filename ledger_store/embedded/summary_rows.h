// What lists show of ledgers: a row beside each ledger, which is not synced. Functions; thread
// safe.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ledger_store/embedded/ledger_table.h"
#include "ledger_store/store.h"
#include "rocksdb/db.h"

namespace dpledger::embedded {

// As LedgerStore::PutSummaries and ReadSummaries; errors of the disk alone.
absl::Status WriteSummaries(rocksdb::DB& db, const LedgerTable& table,
                            const std::vector<SummaryRow>& rows);
absl::StatusOr<std::vector<SummaryRow>> ScanSummaries(rocksdb::DB& db, const LedgerTable& table,
                                                      const std::vector<std::string>& ledgers);

}  // namespace dpledger::embedded
