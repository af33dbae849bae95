#include "ledger_store/embedded/entry_reader.h"

#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "ledger/batch_row.h"
#include "ledger_store/embedded/database.h"
#include "ledger_store/embedded/keys.h"

namespace dpledger::embedded {
namespace {

absl::Status Missing(const std::string& name, uint64_t sequence) {
  return absl::DataLossError(absl::StrCat(name, ": entry ", sequence, " is missing"));
}

// The first sequence of the batch that the iterator stands at, in which `sequence` must lie or with
// which it must begin.
absl::StatusOr<uint64_t> BatchBegin(const rocksdb::Iterator& it, const LedgerRecord& record,
                                    uint64_t sequence) {
  if (!it.status().ok()) return DiskError("read entries", it.status());
  const std::string prefix = LedgerPrefix(Table::kBatch, record.id);
  if (!it.Valid() || !it.key().starts_with(prefix)) return Missing(record.head->name, sequence);
  const std::optional<uint64_t> begin = DecodeNumber(ToView(it.key()).substr(prefix.size()));
  if (!begin.has_value() || *begin > sequence) return Missing(record.head->name, sequence);
  return *begin;
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
    if (begin + batch->size() <= sequence) return Missing(name, sequence);
    for (uint64_t i = sequence - begin; i < batch->size() && sequence < size; ++i, ++sequence) {
      bytes += (*batch)[i].size();
      entries.emplace_back((*batch)[i]);
      if (entries.size() == max_entries || bytes >= max_bytes) return entries;
    }
  }
  return entries;
}

}  // namespace dpledger::embedded
