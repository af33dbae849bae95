#include "ledger_store/embedded/ledger_table.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/absl_view.h"
#include "base/status.h"
#include "ledger/batch_row.h"
#include "ledger_store/embedded/database.h"
#include "ledger_store/embedded/keys.h"
#include "ledger_store/staging/operation.h"

namespace dpledger::embedded {
namespace {

constexpr char kReadHeads[] = "read the ledgers' heads";

// What the last rows of a ledger's writers say: each has the head as its last append left it, so
// that the longest is the ledger's.
struct StoredEnd {
  v1::StoredHead head;
  std::map<std::string, v1::WriterStatus> writers;
};

absl::StatusOr<StoredEnd> LoadEnd(rocksdb::Iterator& it, const std::string& name, uint64_t id) {
  StoredEnd end;
  const std::string prefix = LedgerPrefix(Table::kHead, id);
  for (it.Seek(prefix); it.Valid() && it.key().starts_with(prefix); it.Next()) {
    const std::string_view writer = ToView(it.key()).substr(prefix.size());
    HeadRow row;
    if (!row.ParseFrom(ToView(it.value())) || row.writer.writer() != writer ||
        row.head.size() == 0) {
      return absl::DataLossError(
          absl::StrCat(name, ": the head that writer \"", ToAbsl(writer), "\" left does not fit"));
    }
    if (row.head.size() > end.head.size()) end.head = std::move(row.head);
    end.writers.emplace(writer, std::move(row.writer));
  }
  if (!it.status().ok()) return DiskError(kReadHeads, it.status());
  if (end.writers.empty()) return absl::DataLossError(absl::StrCat(name, ": its head is missing"));
  return end;
}

// The batch of entry 0.
absl::StatusOr<std::string> LoadFirst(rocksdb::Iterator& it, const std::string& name, uint64_t id) {
  const std::string key = BatchKey(id, 0);
  it.Seek(key);
  if (!it.status().ok()) return DiskError(absl::StrCat("read entry 0 of ", name), it.status());
  if (!it.Valid() || it.key() != key) {
    return absl::DataLossError(absl::StrCat(name, ": its entry 0 is missing"));
  }
  std::string row = it.value().ToString();
  if (DecodeBatchRow(row).has_value()) return row;
  return absl::DataLossError(absl::StrCat(name, ": its entry 0 does not parse"));
}

// Cheap enough for every start: the last batch ends where the ledger does.
absl::Status CheckEnd(rocksdb::Iterator& it, const std::string& name, uint64_t id, uint64_t size) {
  const std::string prefix = LedgerPrefix(Table::kBatch, id);
  it.SeekForPrev(BatchKey(id, ~uint64_t{0}));
  if (!it.status().ok()) return DiskError(absl::StrCat("read the end of ", name), it.status());
  uint64_t end = 0;
  if (it.Valid() && it.key().starts_with(prefix)) {
    const std::optional<uint64_t> first = DecodeNumber(ToView(it.key()).substr(prefix.size()));
    const auto entries = DecodeBatchRow(ToView(it.value()));
    if (!first.has_value() || !entries.has_value()) {
      return absl::DataLossError(absl::StrCat(name, ": its last batch does not parse"));
    }
    end = *first + entries->size();
  }
  if (end == size) return absl::OkStatus();
  if (end > size) {
    return absl::DataLossError(absl::StrCat(name, ": has entries beyond its size ", size));
  }
  return absl::DataLossError(
      absl::StrCat(name, ": has size ", size, ", but entry ", size - 1, " is missing"));
}

struct LoadedLedger {
  LedgerRecord record;
  bool to_renew = false;
};

// Of one database. Ledgers are read by id: a step is cheap then, and a new iterator for each ledger
// is not.
struct Iterators {
  std::unique_ptr<rocksdb::Iterator> heads, batches;
};

absl::StatusOr<LoadedLedger> LoadLedger(const Iterators& at, const std::string& name, uint64_t id,
                                        const HeadKeys& keys) {
  ASSIGN_OR_RETURN(StoredEnd end, LoadEnd(*at.heads, name, id));
  ASSIGN_OR_RETURN(const std::string first, LoadFirst(*at.batches, name, id));
  RETURN_IF_ERROR(CheckEnd(*at.batches, name, id, end.head.size()));
  ASSIGN_OR_RETURN(LedgerHead head,
                   FromStored(name, DecodeBatchRow(first)->front(), end.head, end.writers, keys));
  const bool to_renew = !IsCurrent(end.head, head);
  return LoadedLedger{{id, std::make_shared<const LedgerHead>(std::move(head))}, to_renew};
}

// Every ledger has a name: what lies under an id beyond the names' has lost its own.
absl::Status CheckNothingBeyond(rocksdb::DB& db, uint64_t next_id) {
  for (Table table : {Table::kBatch, Table::kCheckpoint, Table::kHead, Table::kHistory,
                      Table::kRequest, Table::kSummary, Table::kTile}) {
    const std::unique_ptr<rocksdb::Iterator> it(db.NewIterator({}));
    it->Seek(LedgerPrefix(table, next_id));
    if (!it->status().ok()) return DiskError(kReadHeads, it->status());
    if (it->Valid() && it->key().starts_with(TablePrefix(table)) &&
        !it->key().starts_with(LedgerPrefix(table, kRegistryId))) {
      return absl::DataLossError("a ledger has lost its name");
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<LedgerTable>> LedgerTable::Load(rocksdb::DB& db, HeadKeys keys) {
  auto table = std::make_unique<LedgerTable>(std::move(keys));
  std::vector<std::pair<uint64_t, std::string>> ids;
  const auto add = [&](std::string_view name, std::string_view value) -> absl::Status {
    const std::optional<uint64_t> id = DecodeNumber(value);
    if (!id.has_value()) {
      return absl::DataLossError(absl::StrCat(ToAbsl(name), ": its id does not parse"));
    }
    ids.emplace_back(*id, name);
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(Scan(db, TablePrefix(Table::kName), kReadHeads, add));
  std::sort(ids.begin(), ids.end());
  const Iterators at = {std::unique_ptr<rocksdb::Iterator>(db.NewIterator({})),
                        std::unique_ptr<rocksdb::Iterator>(db.NewIterator({}))};
  for (const auto& [id, name] : ids) {
    ASSIGN_OR_RETURN(LoadedLedger loaded, LoadLedger(at, name, id, table->keys_));
    if (loaded.to_renew) table->to_renew_.push_back(name);
    table->Put(std::move(loaded.record));
  }
  for (uint64_t i = 0; i < ids.size(); ++i) {
    if (ids[i].first != i)
      return absl::DataLossError(absl::StrCat("no ledger has id ", i, ", but later ones do"));
  }
  RETURN_IF_ERROR(CheckNothingBeyond(db, ids.size()));
  return table;
}

absl::Status LedgerTable::AddRenewedHeads(rocksdb::WriteBatch& batch) const {
  for (const std::string& name : to_renew_) {
    ASSIGN_OR_RETURN(const LedgerRecord record, Find(name));
    // Before the other writers' rows, whose heads are no longer.
    const std::optional<v1::WriterStatus> server = record.head->writers.Find("");
    if (!server.has_value())
      return absl::DataLossError(absl::StrCat(name, ": the server's own writer is missing"));
    batch.Put(HeadKey(record.id, ""), HeadRow{*server, ToStored(*record.head)}.Serialize());
  }
  return absl::OkStatus();
}

absl::StatusOr<LedgerRecord> LedgerTable::Find(const std::string& name) const {
  absl::ReaderMutexLock lock(&mutex_);
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return LedgerNotFound(name);
  return found->second;
}

std::vector<std::shared_ptr<const LedgerHead>> LedgerTable::List(const std::string& prefix,
                                                                 const std::string& after,
                                                                 size_t limit) const {
  std::vector<std::shared_ptr<const LedgerHead>> heads;
  absl::ReaderMutexLock lock(&mutex_);
  for (auto it = after < prefix ? by_name_.lower_bound(prefix) : by_name_.upper_bound(after);
       it != by_name_.end() && heads.size() < limit &&
       absl::StartsWith(it->second.head->name, prefix);
       ++it) {
    heads.push_back(it->second.head);
  }
  return heads;
}

uint64_t LedgerTable::CountDeclaring(const std::string& dataset) const {
  absl::ReaderMutexLock lock(&mutex_);
  const auto found = declaring_.find(dataset);
  return found == declaring_.end() ? 0 : found->second;
}

uint64_t LedgerTable::size() const {
  absl::ReaderMutexLock lock(&mutex_);
  return by_name_.size();
}

std::vector<LedgerRecord> LedgerTable::All() const {
  absl::ReaderMutexLock lock(&mutex_);
  std::vector<LedgerRecord> records;
  records.reserve(by_name_.size());
  for (const auto& [name, record] : by_name_) records.push_back(record);
  return records;
}

std::vector<std::shared_ptr<const LedgerHead>> LedgerTable::Unsigned(const std::string& after,
                                                                     size_t limit) const {
  absl::ReaderMutexLock lock(&mutex_);
  std::vector<std::shared_ptr<const LedgerHead>> heads;
  const auto add = [&](auto begin, auto end) {
    for (auto it = begin; it != end && heads.size() < limit; ++it) {
      heads.push_back(by_name_.at(*it).head);
    }
  };
  const auto next = unsigned_.upper_bound(after);
  add(next, unsigned_.end());
  add(unsigned_.begin(), next);
  return heads;
}

LedgerTable::Puts LedgerTable::PutSince(uint64_t since, size_t limit) const {
  absl::ReaderMutexLock lock(&mutex_);
  Puts puts;
  auto it = by_put_.upper_bound(since);
  for (; it != by_put_.end() && puts.heads.size() < limit; ++it)
    puts.heads.push_back(it->second->head);
  puts.more = it != by_put_.end();
  puts.reached = puts.more ? std::prev(it)->first : puts_;
  return puts;
}

void LedgerTable::MarkSigned(const std::string& name, uint64_t size) {
  absl::MutexLock lock(&mutex_);
  if (by_name_.at(name).head->tree.size() == size) unsigned_.erase(name);
}

void LedgerTable::Put(LedgerRecord record) {
  absl::MutexLock lock(&mutex_);
  unsigned_.insert(record.head->name);
  const auto known = by_name_.find(record.head->name);
  if (known == by_name_.end()) {
    ++declaring_[DeclarationOf(*record.head).dataset()];
    record.put = ++puts_;
    const std::string_view name = record.head->name;
    const auto named = by_name_.emplace(name, std::move(record)).first;
    by_put_.emplace_hint(by_put_.end(), puts_, &named->second);
    return;
  }
  // The nodes move, so that no memory is asked for once a ledger is there.
  const auto after = std::next(known);
  auto named = by_name_.extract(known);
  auto put = by_put_.extract(named.mapped().put);
  named.key() = record.head->name;
  named.mapped().id = record.id;
  named.mapped().put = put.key() = ++puts_;
  named.mapped().head = std::move(record.head);
  by_name_.insert(after, std::move(named));
  by_put_.insert(by_put_.end(), std::move(put));
}

}  // namespace dpledger::embedded
