#include "ledger_store/embedded/embedded_checkpoints.h"

#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "ledger_store/embedded/database.h"
#include "ledger_store/embedded/keys.h"

namespace dpledger::embedded {
namespace {

// The one lease there is: the folder's lock.
constexpr uint64_t kLeaseEpoch = 0;

constexpr int kMaxTileLevel = 63;  // one byte of a key

// How many entries the registry has, by its last one: a gap before it is found when it is read.
absl::StatusOr<uint64_t> CountRegistry(rocksdb::DB& db) {
  const std::string prefix = TablePrefix(Table::kRegistry);
  const std::unique_ptr<rocksdb::Iterator> it(db.NewIterator({}));
  it->SeekForPrev(RegistryKey(~uint64_t{0}));
  if (!it->status().ok()) return DiskError("read the registry", it->status());
  if (!it->Valid() || !it->key().starts_with(prefix)) return 0;
  const std::optional<uint64_t> last = DecodeNumber(ToView(it->key()).substr(prefix.size()));
  if (!last.has_value()) return absl::DataLossError("the registry: a key does not parse");
  return *last + 1;
}

}  // namespace

absl::StatusOr<std::unique_ptr<EmbeddedCheckpoints>> EmbeddedCheckpoints::Load(
    rocksdb::DB& db, SyncedWriter& writer, LedgerTable& table, FailStop& fail_stop) {
  std::unique_ptr<EmbeddedCheckpoints> checkpoints(
      new EmbeddedCheckpoints(db, writer, table, fail_stop));
  ASSIGN_OR_RETURN(const uint64_t registry_size, CountRegistry(db));
  {
    absl::MutexLock lock(&checkpoints->mutex_);
    checkpoints->registry_size_ = registry_size;
  }
  ASSIGN_OR_RETURN(const auto all, checkpoints->LatestOfAll());
  const auto signed_size = [&](const std::string& log, uint64_t size) -> absl::StatusOr<uint64_t> {
    const auto latest = all.find(log);
    if (latest == all.end()) return 0;
    if (latest->second.size() <= size) return latest->second.size();
    return absl::DataLossError(absl::StrCat(LogName(log), ": has ", size, " entries, but ",
                                            latest->second.size(), " were signed"));
  };
  RETURN_IF_ERROR(signed_size(kRegistryLog, registry_size).status());
  for (const LedgerRecord& ledger : table.All()) {
    const std::string& name = ledger.head->name;
    ASSIGN_OR_RETURN(const uint64_t size, signed_size(name, ledger.head->tree.size()));
    table.MarkSigned(name, size);
  }
  return checkpoints;
}

absl::StatusOr<uint64_t> EmbeddedCheckpoints::AcquireLease(const std::string&, absl::Duration) {
  RETURN_IF_ERROR(fail_stop_.status());
  return kLeaseEpoch;
}

absl::StatusOr<UnsignedLedgers> EmbeddedCheckpoints::Unsigned(const std::string& after,
                                                              size_t limit) {
  RETURN_IF_ERROR(fail_stop_.status());
  UnsignedLedgers found;
  for (const auto& head : table_.Unsigned(after, limit)) {
    found.ledgers.push_back(Describe(*head, kNoWriters));
    found.last = head->name;
  }
  return found;
}

absl::Status EmbeddedCheckpoints::Publish(const Publication& publication) {
  absl::MutexLock lock(&mutex_);
  RETURN_IF_ERROR(fail_stop_.status());
  if (publication.lease_epoch != kLeaseEpoch) {
    return SignerReplaced(absl::StrCat("lease_epoch: the lease to sign has epoch ", kLeaseEpoch,
                                       ", got ", publication.lease_epoch));
  }
  if (publication.registry_size != registry_size_) {
    return SignerReplaced(absl::StrCat("registry_size: the registry has ", registry_size_,
                                       " entries, got ", publication.registry_size));
  }
  const uint64_t registry_size = registry_size_ + publication.registry_entries.size();
  rocksdb::WriteBatch batch;
  for (uint64_t i = registry_size_; i < registry_size; ++i) {
    batch.Put(RegistryKey(i), publication.registry_entries[i - registry_size_]);
  }
  std::set<std::string> seen;
  for (const SignedLog& log : publication.logs) {
    if (!seen.insert(log.log).second) {
      return FieldError("logs", absl::StrCat("must name ", LogName(log.log), " only once"));
    }
    ASSIGN_OR_RETURN(const uint64_t id, IdOf(log.log));
    RETURN_IF_ERROR(CheckFollows(log, id, registry_size));
    for (const auto& [tile, hashes] : log.tiles) batch.Put(TileKey(id, tile), hashes);
    batch.Put(CheckpointKey(id), log.checkpoint.SerializeAsString());
  }
  const absl::Status written = writer_.Write(batch, "write and sync a checkpoint");
  if (!written.ok()) return fail_stop_.Fail(written);
  registry_size_ = registry_size;
  for (const SignedLog& log : publication.logs) {
    if (log.log != kRegistryLog) table_.MarkSigned(log.log, log.checkpoint.size());
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::StoredCheckpoint> EmbeddedCheckpoints::Latest(const std::string& log) {
  RETURN_IF_ERROR(fail_stop_.status());
  ASSIGN_OR_RETURN(const uint64_t id, IdOf(log));
  v1::StoredCheckpoint checkpoint;
  const absl::Status found = GetRecord(db_, CheckpointKey(id), checkpoint);
  if (absl::IsNotFound(found)) {
    return absl::NotFoundError(absl::StrCat(LogName(log), ": has no checkpoint yet"));
  }
  if (!found.ok()) return fail_stop_.OfRead(found);
  return checkpoint;
}

absl::StatusOr<std::map<std::string, v1::StoredCheckpoint>> EmbeddedCheckpoints::LatestOfAll() {
  absl::MutexLock lock(&mutex_);  // no publication meanwhile
  RETURN_IF_ERROR(fail_stop_.status());
  std::unordered_map<uint64_t, std::string> logs = {{kRegistryId, kRegistryLog}};
  for (const LedgerRecord& ledger : table_.All()) logs[ledger.id] = ledger.head->name;
  std::map<std::string, v1::StoredCheckpoint> all;
  const auto add = [&](std::string_view key, std::string_view value) {
    const std::optional<uint64_t> id = DecodeNumber(key);
    const auto log = id.has_value() ? logs.find(*id) : logs.end();
    if (log == logs.end() ||
        all[log->second].ParseFromArray(value.data(), static_cast<int>(value.size()))) {
      return absl::OkStatus();
    }
    return absl::DataLossError(
        absl::StrCat(LogName(log->second), ": its checkpoint does not parse"));
  };
  const absl::Status read = Scan(db_, TablePrefix(Table::kCheckpoint), "read checkpoints", add);
  if (!read.ok()) return fail_stop_.OfRead(read);
  return all;
}

absl::StatusOr<std::string> EmbeddedCheckpoints::ReadTile(const std::string& log,
                                                          const merkle::TileId& tile) {
  RETURN_IF_ERROR(fail_stop_.status());
  ASSIGN_OR_RETURN(const uint64_t id, IdOf(log));
  if (tile.level >= 0 && tile.level <= kMaxTileLevel) {
    std::string hashes;
    const rocksdb::Status read = db_.Get({}, TileKey(id, tile), &hashes);
    if (read.ok()) return hashes;
    if (!read.IsNotFound()) return fail_stop_.OfRead(DiskError("read a tile", read));
  }
  return absl::NotFoundError(
      absl::StrCat(LogName(log), ": has no tile of level ", tile.level, " and index ", tile.index));
}

absl::StatusOr<std::vector<std::string>> EmbeddedCheckpoints::ReadRegistry(uint64_t first,
                                                                           size_t max_entries) {
  RETURN_IF_ERROR(fail_stop_.status());
  const uint64_t size = registry_size();
  std::vector<std::string> entries;
  const std::unique_ptr<rocksdb::Iterator> it(db_.NewIterator({}));
  it->Seek(RegistryKey(first));
  for (uint64_t index = first; index < size && entries.size() < max_entries; ++index, it->Next()) {
    if (!it->status().ok()) return fail_stop_.OfRead(DiskError("read the registry", it->status()));
    if (!it->Valid() || it->key() != RegistryKey(index)) {
      return EntryMissing(LogName(kRegistryLog), index);
    }
    entries.push_back(it->value().ToString());
  }
  return entries;
}

uint64_t EmbeddedCheckpoints::registry_size() const {
  absl::MutexLock lock(&mutex_);
  return registry_size_;
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
    return FieldError("checkpoint.size", absl::StrCat("of ", LogName(log.log), " must be in [",
                                                      last_size, ", ", entries, "], got ", size));
  }
  return absl::OkStatus();
}

}  // namespace dpledger::embedded
