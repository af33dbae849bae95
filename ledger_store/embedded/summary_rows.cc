#include "ledger_store/embedded/summary_rows.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/status.h"
#include "ledger_store/embedded/database.h"
#include "ledger_store/embedded/keys.h"

namespace dpledger::embedded {
namespace {

absl::StatusOr<std::vector<SummaryRow>> ScanAll(rocksdb::DB& db, const LedgerTable& table) {
  std::unordered_map<uint64_t, std::string> names;
  for (const LedgerRecord& record : table.All()) names[record.id] = record.head->name;
  std::vector<SummaryRow> rows;
  const std::string prefix = TablePrefix(Table::kSummary);
  const std::unique_ptr<rocksdb::Iterator> it(db.NewIterator({}));
  for (it->Seek(prefix); it->Valid() && it->key().starts_with(prefix); it->Next()) {
    const std::optional<uint64_t> id = DecodeNumber(ToView(it->key()).substr(prefix.size()));
    const auto found = id.has_value() ? names.find(*id) : names.end();
    if (found != names.end()) rows.push_back({found->second, it->value().ToString()});
  }
  if (!it->status().ok()) return DiskError("read summaries", it->status());
  return rows;
}

}  // namespace

absl::Status WriteSummaries(rocksdb::DB& db, const LedgerTable& table,
                            const std::vector<SummaryRow>& rows) {
  rocksdb::WriteBatch batch;
  for (const SummaryRow& row : rows) {
    const absl::StatusOr<LedgerRecord> record = table.Find(row.ledger);
    if (record.ok()) batch.Put(SummaryKey(record->id), row.bytes);
  }
  const rocksdb::Status written = db.Write({}, &batch);
  return written.ok() ? absl::OkStatus() : DiskError("write summaries", written);
}

absl::StatusOr<std::vector<SummaryRow>> ScanSummaries(rocksdb::DB& db, const LedgerTable& table,
                                                      const std::vector<std::string>& ledgers) {
  if (ledgers.empty()) return ScanAll(db, table);
  std::vector<SummaryRow> rows;
  for (const std::string& ledger : ledgers) {
    const absl::StatusOr<LedgerRecord> record = table.Find(ledger);
    if (!record.ok()) continue;
    std::string bytes;
    const rocksdb::Status read = db.Get({}, SummaryKey(record->id), &bytes);
    if (read.ok()) rows.push_back({ledger, std::move(bytes)});
    if (!read.ok() && !read.IsNotFound()) return DiskError("read a summary", read);
  }
  return rows;
}

}  // namespace dpledger::embedded
