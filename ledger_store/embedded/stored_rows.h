// What a store keeps of ledgers beside their heads: entries, run-length tables, and what lists
// show. Only entries are synced. Functions; thread safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ledger_store/embedded/ledger_table.h"
#include "ledger_store/store.h"
#include "rocksdb/db.h"

namespace dpledger::embedded {

// As LedgerStore::Read, of a ledger as `record` has it. DATA_LOSS if an entry is missing or cut
// short; UNAVAILABLE for an error of the disk.
absl::StatusOr<std::vector<std::string>> ReadEntries(rocksdb::DB& db, const LedgerRecord& record,
                                                     uint64_t first, size_t max_entries,
                                                     size_t max_bytes);

// As LedgerStore::PutHistory and GetHistory. Value: the SHA-256 of the StoredHistory (32 bytes),
// the StoredHistory.
absl::Status WriteHistory(rocksdb::DB& db, const LedgerRecord& record,
                          const v1::StoredHistory& history);
absl::StatusOr<v1::StoredHistory> ReadHistory(rocksdb::DB& db, const LedgerRecord& record);

// As LedgerStore::PutSummaries and ReadSummaries; errors of the disk alone.
absl::Status WriteSummaries(rocksdb::DB& db, const LedgerTable& table,
                            const std::vector<SummaryRow>& rows);
absl::StatusOr<std::vector<SummaryRow>> ScanSummaries(rocksdb::DB& db, const LedgerTable& table,
                                                      const std::vector<std::string>& ledgers);

}  // namespace dpledger::embedded
