#include "ledger_store/embedded/stored_rows.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "ledger/batch_row.h"
#include "ledger/request_rules.h"
#include "ledger_store/embedded/database.h"
#include "ledger_store/embedded/keys.h"
#include "merkle/compact_tree.h"
#include "merkle/sha256.h"

namespace dpledger::embedded {
namespace {

std::string DigestOf(std::string_view bytes) { return merkle::ToBytes(merkle::Sha256({bytes})); }

// The first sequence of the batch that the iterator stands at, in which `sequence` must lie or with
// which it must begin.
absl::StatusOr<uint64_t> BatchBegin(const rocksdb::Iterator& it, const LedgerRecord& record,
                                    uint64_t sequence) {
  if (!it.status().ok()) return DiskError("read entries", it.status());
  const std::string prefix = LedgerPrefix(Table::kBatch, record.id);
  if (!it.Valid() || !it.key().starts_with(prefix))
    return EntryMissing(record.head->name, sequence);
  const std::optional<uint64_t> begin = DecodeNumber(ToView(it.key()).substr(prefix.size()));
  if (!begin.has_value() || *begin > sequence) return EntryMissing(record.head->name, sequence);
  return *begin;
}

absl::StatusOr<std::vector<SummaryRow>> ScanAll(rocksdb::DB& db, const LedgerTable& table) {
  std::unordered_map<uint64_t, std::string> names;
  for (const LedgerRecord& record : table.All()) names[record.id] = record.head->name;
  std::vector<SummaryRow> rows;
  const auto add = [&](std::string_view key, std::string_view value) {
    const std::optional<uint64_t> id = DecodeNumber(key);
    const auto found = id.has_value() ? names.find(*id) : names.end();
    if (found != names.end()) rows.push_back({found->second, std::string(value)});
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(Scan(db, TablePrefix(Table::kSummary), "read summaries", add));
  return rows;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ReadEntries(rocksdb::DB& db, const LedgerRecord& record,
                                                     uint64_t first, size_t max_entries,
                                                     size_t max_bytes) {
  const std::string& name = record.head->name;
  const uint64_t size = record.head->tree.size();
  if (first > size) {
    return absl::OutOfRangeError(absl::StrCat("first_sequence: must be at most ", size,
                                              ", the size of ", name, ", got ", first));
  }
  std::vector<std::string> entries;
  if (first == size || max_entries == 0) return entries;
  size_t bytes = 0;
  const std::unique_ptr<rocksdb::Iterator> it(db.NewIterator({}));
  it->SeekForPrev(BatchKey(record.id, first));  // the batch that holds `first`
  for (uint64_t sequence = first; sequence < size; it->Next()) {
    ASSIGN_OR_RETURN(const uint64_t begin, BatchBegin(*it, record, sequence));
    const auto batch = DecodeBatchRow(ToView(it->value()));
    if (!batch.has_value()) {
      return absl::DataLossError(
          absl::StrCat(name, ": the batch of entry ", begin, " is cut short"));
    }
    if (begin + batch->size() <= sequence) return EntryMissing(name, sequence);
    for (uint64_t i = sequence - begin; i < batch->size() && sequence < size; ++i, ++sequence) {
      bytes += (*batch)[i].size();
      entries.emplace_back((*batch)[i]);
      if (entries.size() == max_entries || bytes >= max_bytes) return entries;
    }
  }
  return entries;
}

absl::Status WriteHistory(rocksdb::DB& db, const LedgerRecord& record,
                          const v1::StoredHistory& history) {
  const std::string bytes = SerializeDeterministically(history);
  const rocksdb::Status written = db.Put({}, HistoryKey(record.id), DigestOf(bytes) + bytes);
  return written.ok() ? absl::OkStatus() : DiskError("write a run-length table", written);
}

absl::StatusOr<v1::StoredHistory> ReadHistory(rocksdb::DB& db, const LedgerRecord& record) {
  std::string value;
  const rocksdb::Status read = db.Get({}, HistoryKey(record.id), &value);
  if (read.IsNotFound())
    return absl::NotFoundError(absl::StrCat(record.head->name, ": has no run-length table yet"));
  if (!read.ok()) return DiskError("read a run-length table", read);
  const size_t digest_bytes = std::min(value.size(), sizeof(merkle::Hash));
  const std::string_view bytes = std::string_view(value).substr(digest_bytes);
  v1::StoredHistory history;
  if (value.substr(0, digest_bytes) == DigestOf(bytes) &&
      history.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return history;
  }
  return absl::DataLossError(absl::StrCat(record.head->name, ": its run-length table is damaged"));
}

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
