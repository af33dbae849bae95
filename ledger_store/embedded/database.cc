#include "ledger_store/embedded/database.h"

#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/absl_view.h"
#include "base/file.h"
#include "base/hex.h"
#include "base/status.h"
#include "ledger_store/embedded/keys.h"
#include "ledger_store/embedded/log_scan.h"
#include "ledger_store/embedded/rocksdb_options.h"
#include "ledger_store/embedded/synced_record.h"
#include "rocksdb/utilities/checkpoint.h"

namespace dpledger::embedded {
namespace {

absl::Status MakeFolder(const std::string& folder) {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::absolute(folder, error);
  if (!error) std::filesystem::create_directories(path, error);
  if (error) return ErrnoError(error.value(), "create", folder);
  // A database whose folder's name is lost in a power cut is lost too.
  return SyncDirectory(path.parent_path().string());
}

// RocksDB has no code of its own for a lock that is held.
bool IsLocked(const rocksdb::Status& status) {
  const std::string text = status.ToString();
  return status.IsIOError() && (absl::StrContains(text, "While lock file") ||
                                absl::StrContains(text, "lock hold by current process"));
}

absl::Status InUse(const std::string& folder) {
  return WithReason(
      absl::FailedPreconditionError(absl::StrCat(
          folder,
          ": another server has this store open; stop it, or give this one a folder of its own")),
      {"STORE_IN_USE", {{"folder", folder}}});
}

absl::Status MakeLogsReady(const std::string& folder) {
  const absl::StatusOr<CheckedLogs> logs = CheckLogs(folder);
  if (absl::IsDataLoss(logs.status())) {
    return absl::DataLossError(
        absl::StrCat("open the store in ", folder, ": ", logs.status().message(),
                     "; `dpledger-server recover --help` says what can be done"));
  }
  RETURN_IF_ERROR(logs.status());
  RETURN_IF_ERROR(CheckSyncedAtRest(folder, logs->last_sequence));
  // RocksDB keeps a log of which it could replay nothing, and removes others without a sync of the
  // folder. So a torn log may still be there when a later one has records, and would look damaged.
  for (const TornLog& log : logs->torn) RETURN_IF_ERROR(TruncateDurably(log.path, log.whole_bytes));
  return absl::OkStatus();
}

// Under RocksDB's lock: the log of a server that runs changes while it is read.
absl::Status MakeReadyAtRest(const std::string& folder, rocksdb::Env& env) {
  const std::string path = absl::StrCat(folder, "/LOCK");
  rocksdb::FileLock* lock = nullptr;
  const rocksdb::Status locked = env.LockFile(path, &lock);
  if (IsLocked(locked)) return InUse(folder);
  if (!locked.ok()) return DiskError(absl::StrCat("open the store in ", folder), locked);
  const absl::Status ready = MakeLogsReady(folder);
  const rocksdb::Status unlocked = env.UnlockFile(lock);
  RETURN_IF_ERROR(ready);
  return unlocked.ok() ? absl::OkStatus() : DiskError(absl::StrCat("unlock ", folder), unlocked);
}

}  // namespace

absl::Status CheckVersion(rocksdb::DB& db, const std::string& folder) {
  std::string version;
  const rocksdb::Status found = db.Get({}, VersionKey(), &version);
  if (found.ok()) {
    if (version == kFormatVersion) return absl::OkStatus();
    uint32_t number = 0;
    const bool is_number = absl::SimpleAtoi(version, &number) && absl::StrCat(number) == version;
    uint32_t ours = 0;
    if (is_number && absl::SimpleAtoi(ToAbsl(kFormatVersion), &ours) && number > ours) {
      return absl::FailedPreconditionError(
          absl::StrCat(folder, ": holds a store of format ", version,
                       ", written by a newer version of this program, which reads format ", ours,
                       "; run the newer one, or give this one a folder of its own"));
    }
    return absl::FailedPreconditionError(
        absl::StrCat(folder, ": holds a store of format ",
                     is_number ? version : absl::StrCat(HexEncode(version), " (hexadecimal)"),
                     ", this program reads format ", ToAbsl(kFormatVersion)));
  }
  if (!found.IsNotFound()) return DiskError("read the format version", found);
  const std::unique_ptr<rocksdb::Iterator> all(db.NewIterator({}));
  all->SeekToFirst();
  if (all->Valid()) {
    return absl::DataLossError(absl::StrCat(folder, ": the store's format version is missing"));
  }
  if (!all->status().ok()) return DiskError("read the format version", all->status());
  const rocksdb::Slice value(kFormatVersion.data(), kFormatVersion.size());
  const rocksdb::Status written = db.Put(DurableWrite(), VersionKey(), value);
  return written.ok() ? absl::OkStatus() : DiskError("write the format version", written);
}

absl::StatusOr<std::unique_ptr<rocksdb::DB>> OpenDatabase(const std::string& folder,
                                                          rocksdb::Env* env) {
  RETURN_IF_ERROR(MakeFolder(folder));
  RETURN_IF_ERROR(MakeReadyAtRest(folder, env == nullptr ? *rocksdb::Env::Default() : *env));
  rocksdb::DB* opened = nullptr;
  const rocksdb::Status status = rocksdb::DB::Open(DatabaseOptions(env), folder, &opened);
  std::unique_ptr<rocksdb::DB> db(opened);
  if (IsLocked(status)) return InUse(folder);
  if (!status.ok()) return DiskError(absl::StrCat("open the store in ", folder), status);
  RETURN_IF_ERROR(CheckVersion(*db, folder));
  return db;
}

rocksdb::Status OpenReadOnly(const std::string& folder, std::unique_ptr<rocksdb::DB>& db,
                             rocksdb::WALRecoveryMode recovery) {
  rocksdb::Options options = DatabaseOptions(nullptr);
  options.create_if_missing = false;
  options.wal_recovery_mode = recovery;
  rocksdb::DB* opened = nullptr;
  const rocksdb::Status status = rocksdb::DB::OpenForReadOnly(options, folder, &opened);
  db.reset(opened);
  return status;
}

absl::Status MakeSnapshot(rocksdb::DB& db, const SyncedPoint& synced, const std::string& folder) {
  rocksdb::Checkpoint* made = nullptr;
  const rocksdb::Status begun = rocksdb::Checkpoint::Create(&db, &made);
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(made);
  if (!begun.ok()) return DiskError("begin a snapshot", begun);
  absl::Cleanup remove = [&folder] {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
    std::filesystem::remove_all(folder + ".tmp", ignored);  // RocksDB's, before it renames it
  };
  // Logs are copied, not flushed into tables: a flush that fails would stop the database.
  constexpr uint64_t kNeverFlush = std::numeric_limits<uint64_t>::max();
  const rocksdb::Status copied = checkpoint->CreateCheckpoint(folder, kNeverFlush);
  if (!copied.ok()) return DiskError("make a snapshot", copied);
  RETURN_IF_ERROR(WriteSyncedRecord(folder, synced));
  std::move(remove).Cancel();
  return absl::OkStatus();
}

absl::Status DiskError(std::string_view operation, const rocksdb::Status& status) {
  const std::string message = absl::StrCat(ToAbsl(operation), ": ", status.ToString());
  return status.IsCorruption() ? absl::DataLossError(message) : absl::UnavailableError(message);
}

absl::Status Scan(rocksdb::DB& db, const std::string& prefix, std::string_view what,
                  const std::function<absl::Status(std::string_view, std::string_view)>& visit) {
  const std::unique_ptr<rocksdb::Iterator> it(db.NewIterator({}));
  for (it->Seek(prefix); it->Valid() && it->key().starts_with(prefix); it->Next()) {
    RETURN_IF_ERROR(visit(ToView(it->key()).substr(prefix.size()), ToView(it->value())));
  }
  return it->status().ok() ? absl::OkStatus() : DiskError(what, it->status());
}

absl::Status GetRecord(rocksdb::DB& db, const std::string& key,
                       google::protobuf::MessageLite& record) {
  rocksdb::PinnableSlice value;
  const rocksdb::Status status = db.Get({}, db.DefaultColumnFamily(), key, &value);
  if (status.IsNotFound()) {
    return absl::NotFoundError(absl::StrCat("no record under ", HexEncode(key)));
  }
  if (!status.ok()) return DiskError("read a record", status);
  if (!record.ParseFromArray(value.data(), static_cast<int>(value.size()))) {
    return absl::DataLossError(absl::StrCat("record under ", HexEncode(key), ": does not parse"));
  }
  return absl::OkStatus();
}

}  // namespace dpledger::embedded
