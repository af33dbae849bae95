#include "ledger_store/embedded/embedded_checkpoints.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "ledger_store/embedded/database.h"
#include "ledger_store/embedded/keys.h"
#include "ledger_store/embedded/rocksdb_options.h"

namespace dpledger::embedded {
namespace {

std::string NameOf(const std::string& log) { return log == kRegistryLog ? "the registry" : log; }

// The registry's entries are dense from 0: how many there are. DATA_LOSS if one is missing.
absl::StatusOr<uint64_t> CountRegistry(rocksdb::DB& db) {
  const std::string prefix = TablePrefix(Table::kRegistry);
  uint64_t count = 0;
  const std::unique_ptr<rocksdb::Iterator> it(db.NewIterator({}));
  for (it->Seek(prefix); it->Valid() && it->key().starts_with(prefix); it->Next(), ++count) {
    if (it->key() != RegistryKey(count)) {
      return absl::DataLossError(absl::StrCat("the registry: entry ", count, " is missing"));
    }
  }
  if (!it->status().ok()) return DiskError("read the registry", it->status());
  return count;
}

}  // namespace

absl::StatusOr<std::unique_ptr<EmbeddedCheckpoints>> EmbeddedCheckpoints::Load(
    rocksdb::DB& db, LedgerTable& table,
    std::function<absl::Status(const absl::Status&)> on_failure) {
  std::unique_ptr<EmbeddedCheckpoints> checkpoints(
      new EmbeddedCheckpoints(db, table, std::move(on_failure)));
  ASSIGN_OR_RETURN(const uint64_t registry_size, CountRegistry(db));
  {
    absl::MutexLock lock(&checkpoints->mutex_);
    checkpoints->registry_size_ = registry_size;
  }
  for (const LedgerRecord& ledger : table.All()) {
    const std::string& name = ledger.head->name;
    const absl::StatusOr<v1::StoredCheckpoint> latest = checkpoints->Latest(name);
    if (absl::IsNotFound(latest.status())) continue;
    RETURN_IF_ERROR(latest.status());
    if (latest->size() > ledger.head->tree.size()) {
      return absl::DataLossError(absl::StrCat(name, ": has ", ledger.head->tree.size(),
                                              " entries, but ", latest->size(), " were signed"));
    }
    table.MarkSigned(name, latest->size());
  }
  return checkpoints;
}

absl::StatusOr<uint64_t> EmbeddedCheckpoints::AcquireLease(const std::string&, absl::Duration) {
  return 0;  // the folder's lock is the lease
}

absl::StatusOr<std::vector<v1::Ledger>> EmbeddedCheckpoints::Unsigned(size_t limit) {
  std::vector<v1::Ledger> ledgers;
  for (const auto& head : table_.Unsigned(limit)) ledgers.push_back(Describe(*head));
  return ledgers;
}

absl::Status EmbeddedCheckpoints::Publish(const Publication& publication) {
  absl::MutexLock lock(&mutex_);
  if (publication.registry_size != registry_size_) {
    return WithReason(
        absl::AbortedError(absl::StrCat("registry_size: the registry has ", registry_size_,
                                        " entries, got ", publication.registry_size)),
        {"SIGNER_REPLACED", {}});
  }
  const uint64_t registry_size = registry_size_ + publication.registry_entries.size();
  rocksdb::WriteBatch batch;
  for (uint64_t i = registry_size_; i < registry_size; ++i) {
    batch.Put(RegistryKey(i), publication.registry_entries[i - registry_size_]);
  }
  for (const SignedLog& log : publication.logs) {
    ASSIGN_OR_RETURN(const uint64_t id, IdOf(log.log));
    RETURN_IF_ERROR(CheckFollows(log, id, registry_size));
    for (const auto& [tile, hashes] : log.tiles) batch.Put(TileKey(id, tile), hashes);
    batch.Put(CheckpointKey(id), log.checkpoint.SerializeAsString());
  }
  const rocksdb::Status written = db_.Write(DurableWrite(), &batch);
  if (!written.ok()) return on_failure_(DiskError("write and sync a checkpoint", written));
  registry_size_ = registry_size;
  for (const SignedLog& log : publication.logs) {
    if (log.log != kRegistryLog) table_.MarkSigned(log.log, log.checkpoint.size());
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::StoredCheckpoint> EmbeddedCheckpoints::Latest(const std::string& log) {
  ASSIGN_OR_RETURN(const uint64_t id, IdOf(log));
  v1::StoredCheckpoint checkpoint;
  const absl::Status found = GetRecord(db_, CheckpointKey(id), checkpoint);
  if (absl::IsNotFound(found)) {
    return absl::NotFoundError(absl::StrCat(NameOf(log), ": has no checkpoint yet"));
  }
  RETURN_IF_ERROR(found);
  return checkpoint;
}

absl::StatusOr<std::string> EmbeddedCheckpoints::ReadTile(const std::string& log,
                                                          const merkle::TileId& tile) {
  ASSIGN_OR_RETURN(const uint64_t id, IdOf(log));
  std::string hashes;
  const rocksdb::Status read = db_.Get({}, TileKey(id, tile), &hashes);
  if (read.ok()) return hashes;
  if (!read.IsNotFound()) return DiskError("read a tile", read);
  return absl::NotFoundError(
      absl::StrCat(NameOf(log), ": has no tile of level ", tile.level, " and index ", tile.index));
}

absl::StatusOr<std::vector<std::string>> EmbeddedCheckpoints::ReadRegistry(uint64_t first,
                                                                           size_t max_entries) {
  const std::string prefix = TablePrefix(Table::kRegistry);
  std::vector<std::string> entries;
  const std::unique_ptr<rocksdb::Iterator> it(db_.NewIterator({}));
  for (it->Seek(RegistryKey(first));
       it->Valid() && it->key().starts_with(prefix) && entries.size() < max_entries; it->Next()) {
    if (it->key() != RegistryKey(first + entries.size())) {
      return absl::DataLossError(
          absl::StrCat("the registry: entry ", first + entries.size(), " is missing"));
    }
    entries.push_back(it->value().ToString());
  }
  if (!it->status().ok()) return DiskError("read the registry", it->status());
  return entries;
}

absl::StatusOr<uint64_t> EmbeddedCheckpoints::IdOf(const std::string& log) const {
  if (log == kRegistryLog) return kRegistryId;
  ASSIGN_OR_RETURN(const LedgerRecord record, table_.Find(log));
  return record.id;
}

absl::Status EmbeddedCheckpoints::CheckFollows(const SignedLog& log, uint64_t id,
                                               uint64_t registry_size) {
  uint64_t entries = registry_size;
  if (id != kRegistryId) {
    ASSIGN_OR_RETURN(const LedgerRecord record, table_.Find(log.log));
    entries = record.head->tree.size();
  }
  const absl::StatusOr<v1::StoredCheckpoint> last = Latest(log.log);
  if (!last.ok() && !absl::IsNotFound(last.status())) return last.status();
  const uint64_t last_size = last.ok() ? last->size() : 0;
  const uint64_t size = log.checkpoint.size();
  if (size < last_size || size > entries) {
    return FieldError("checkpoint.size", absl::StrCat("of ", NameOf(log.log), " must be in [",
                                                      last_size, ", ", entries, "], got ", size));
  }
  return absl::OkStatus();
}

}  // namespace dpledger::embedded
