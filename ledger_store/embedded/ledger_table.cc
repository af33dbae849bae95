#include "ledger_store/embedded/ledger_table.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/absl_view.h"
#include "base/status.h"
#include "ledger_store/embedded/database.h"
#include "ledger_store/embedded/keys.h"

namespace dpledger::embedded {
namespace {

// Calls `visit` with each key that begins with `prefix` (the prefix cut off) and its value.
absl::Status Scan(rocksdb::DB& db, const std::string& prefix,
                  const std::function<absl::Status(std::string_view, std::string_view)>& visit) {
  const std::unique_ptr<rocksdb::Iterator> it(db.NewIterator({}));
  for (it->Seek(prefix); it->Valid() && it->key().starts_with(prefix); it->Next()) {
    RETURN_IF_ERROR(visit(ToView(it->key()).substr(prefix.size()), ToView(it->value())));
  }
  return it->status().ok() ? absl::OkStatus() : DiskError("read the ledgers' heads", it->status());
}

absl::StatusOr<std::map<std::string, v1::WriterStatus>> LoadWriters(rocksdb::DB& db, uint64_t id) {
  std::map<std::string, v1::WriterStatus> writers;
  const auto add = [&](std::string_view writer, std::string_view value) {
    v1::WriterStatus& status = writers[std::string(writer)];
    if (status.ParseFromArray(value.data(), static_cast<int>(value.size())) &&
        status.writer() == writer) {
      return absl::OkStatus();
    }
    return absl::DataLossError(
        absl::StrCat("writer ", ToAbsl(writer), ": its record does not fit"));
  };
  RETURN_IF_ERROR(Scan(db, LedgerPrefix(Table::kWriter, id), add));
  return writers;
}

// Cheap enough for every start: the last entry is there, and none after it.
absl::Status CheckEnd(rocksdb::DB& db, const std::string& name, uint64_t id, uint64_t size) {
  const std::string last = EntryKey(id, size - 1);
  const std::unique_ptr<rocksdb::Iterator> it(db.NewIterator({}));
  it->Seek(last);
  if (it->Valid() && it->key() == last) {
    it->Next();
    if (it->status().ok() &&
        !(it->Valid() && it->key().starts_with(LedgerPrefix(Table::kEntry, id)))) {
      return absl::OkStatus();
    }
    if (it->status().ok()) {
      return absl::DataLossError(absl::StrCat(name, ": has entries beyond its size ", size));
    }
  }
  if (!it->status().ok()) return DiskError(absl::StrCat("read the end of ", name), it->status());
  return absl::DataLossError(
      absl::StrCat(name, ": has size ", size, ", but entry ", size - 1, " is missing"));
}

absl::StatusOr<LedgerRecord> LoadLedger(rocksdb::DB& db, const std::string& name, uint64_t id) {
  v1::StoredHead stored;
  v1::LedgerEntry first;
  for (const auto& [key, record] :
       {std::pair<std::string, google::protobuf::MessageLite*>(HeadKey(id), &stored),
        std::pair<std::string, google::protobuf::MessageLite*>(EntryKey(id, 0), &first)}) {
    const absl::Status found = GetRecord(db, key, *record);
    if (absl::IsNotFound(found)) {
      return absl::DataLossError(
          absl::StrCat(name, ": its ", record == &stored ? "head" : "entry 0", " is missing"));
    }
    RETURN_IF_ERROR(found);
  }
  if (stored.size() == 0) return absl::DataLossError(absl::StrCat(name, ": its head has size 0"));
  RETURN_IF_ERROR(CheckEnd(db, name, id, stored.size()));
  ASSIGN_OR_RETURN(auto writers, LoadWriters(db, id));
  ASSIGN_OR_RETURN(LedgerHead head, FromStored(name, first, stored, std::move(writers)));
  return LedgerRecord{id, std::make_shared<const LedgerHead>(std::move(head))};
}

// Every ledger has a name: what lies under an id beyond the names' has lost its own.
absl::Status CheckNothingBeyond(rocksdb::DB& db, uint64_t next_id) {
  for (Table table : {Table::kHead, Table::kEntry, Table::kWriter, Table::kRequest}) {
    const auto refuse = [](std::string_view, std::string_view) {
      return absl::DataLossError("a ledger has lost its name");
    };
    const std::unique_ptr<rocksdb::Iterator> it(db.NewIterator({}));
    it->Seek(LedgerPrefix(table, next_id));
    if (it->Valid() && it->key().starts_with(TablePrefix(table))) return refuse({}, {});
    if (!it->status().ok()) return DiskError("read the ledgers' heads", it->status());
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<LedgerTable>> LedgerTable::Load(rocksdb::DB& db) {
  auto table = std::make_unique<LedgerTable>();
  std::vector<uint64_t> ids;
  const auto add = [&](std::string_view name, std::string_view value) -> absl::Status {
    const std::optional<uint64_t> id = DecodeNumber(value);
    if (!id.has_value()) {
      return absl::DataLossError(absl::StrCat(ToAbsl(name), ": its id does not parse"));
    }
    ASSIGN_OR_RETURN(LedgerRecord record, LoadLedger(db, std::string(name), *id));
    table->Put(std::move(record));
    ids.push_back(*id);
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(Scan(db, TablePrefix(Table::kName), add));
  std::sort(ids.begin(), ids.end());
  for (uint64_t i = 0; i < ids.size(); ++i) {
    if (ids[i] != i)
      return absl::DataLossError(absl::StrCat("no ledger has id ", i, ", but later ones do"));
  }
  RETURN_IF_ERROR(CheckNothingBeyond(db, ids.size()));
  return table;
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
       it != by_name_.end() && heads.size() < limit && absl::StartsWith(it->first, prefix); ++it) {
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

std::vector<std::shared_ptr<const LedgerHead>> LedgerTable::Unsigned(size_t limit) const {
  absl::ReaderMutexLock lock(&mutex_);
  std::vector<std::shared_ptr<const LedgerHead>> heads;
  for (auto it = unsigned_.begin(); it != unsigned_.end() && heads.size() < limit; ++it) {
    heads.push_back(by_name_.at(*it).head);
  }
  return heads;
}

void LedgerTable::MarkSigned(const std::string& name, uint64_t size) {
  absl::MutexLock lock(&mutex_);
  if (by_name_.at(name).head->tree.size() == size) unsigned_.erase(name);
}

void LedgerTable::Put(LedgerRecord record) {
  absl::MutexLock lock(&mutex_);
  unsigned_.insert(record.head->name);
  const auto [entry, is_new] = by_name_.try_emplace(record.head->name);
  if (is_new) ++declaring_[DeclarationOf(*record.head).dataset()];
  entry->second = std::move(record);
}

absl::Status LedgerNotFound(const std::string& name) {
  return WithReason(absl::NotFoundError(absl::StrCat(name, ": no such ledger")),
                    {"LEDGER_NOT_FOUND", {{"ledger", name}}});
}

}  // namespace dpledger::embedded
