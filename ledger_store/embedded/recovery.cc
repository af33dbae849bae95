#include "ledger_store/embedded/recovery.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status.h"
#include "ledger_store/embedded/database.h"
#include "ledger_store/embedded/embedded_store.h"
#include "ledger_store/embedded/folder_files.h"
#include "ledger_store/embedded/folder_lock.h"
#include "ledger_store/embedded/log_scan.h"
#include "ledger_store/embedded/read_only_database.h"
#include "ledger_store/embedded/rocksdb_options.h"
#include "ledger_store/embedded/synced_record.h"
#include "ledger_store/evidence/checkpoint_file.h"
#include "ledger_store/evidence/ledger_rehash.h"
#include "ledger_store/evidence/registry.h"
#include "ledger_store/evidence/start_check.h"
#include "ledger_store/store.h"

namespace dpledger::embedded {
namespace {

namespace fs = std::filesystem;

constexpr size_t kPageLedgers = 1000;

absl::Status Refused(const std::string& what, const char* reason) {
  return WithReason(absl::FailedPreconditionError(what), {reason, {}});
}

absl::Status FileError(const std::error_code& error, const char* operation, const fs::path& path) {
  return ErrnoError(error.value(), operation, path.string());
}

// Whole copies, not links: RocksDB may give a new table the number of a file that the damaged
// MANIFEST has forgotten, and would write over what both folders share.
absl::Status Copy(const fs::path& from, const fs::path& to) {
  std::error_code error;
  if (!fs::create_directory(to, error) || error) {
    if (error) return FileError(error, "create", to);
    return Refused(absl::StrCat(to.string(),
                                ": is there already, from a recovery that was interrupted or is "
                                "running; remove it if none is running"),
                   "RECOVERY_EXISTS");
  }
  for (fs::directory_iterator it(from, error), end; !error && it != end; it.increment(error)) {
    // What the copy will have lost is measured by the second place alone.
    if (it->path().filename() == "LOCK" || it->path().filename() == kSyncedRecordFile) continue;
    fs::copy_file(it->path(), to / it->path().filename(), error);
    if (error) return FileError(error, "copy", it->path());
  }
  return error ? FileError(error, "read the folder", from) : absl::OkStatus();
}

// Drops what stands behind the first damage in the logs, and writes the rest into tables.
absl::Status CutLogs(const std::string& folder) {
  rocksdb::Options options = DatabaseOptions(nullptr);
  options.create_if_missing = false;
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  options.track_and_verify_wals_in_manifest = false;  // takes them as they are
  rocksdb::DB* opened = nullptr;
  const rocksdb::Status status = rocksdb::DB::Open(options, folder, &opened);
  std::unique_ptr<rocksdb::DB> db(opened);
  if (!status.ok()) return DiskError("open what precedes the damage", status);
  const rocksdb::Status flushed = db->Flush({});
  if (!flushed.ok()) return DiskError("write what precedes the damage into tables", flushed);
  const rocksdb::Status closed = db->Close();
  if (!closed.ok()) return DiskError("close the recovered store", closed);
  db.reset();
  // What was read of the logs is in tables now; RocksDB keeps a log of which it could read nothing.
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == ".log") fs::remove(it->path(), error);
    if (error) return FileError(error, "remove", it->path());
  }
  return error ? FileError(error, "read the folder", folder) : absl::OkStatus();
}

std::string ParentOf(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path().string() : ".";
}

// The ledger's entries lead to its checkpoint and to its head.
absl::Status CheckEntries(LedgerReader& store, const Registry& registry, const v1::Ledger& head,
                          uint64_t& signed_size) {
  ASSIGN_OR_RETURN(const SignedCheckpoint last, LastOf(store.checkpoints(), registry, head.name()));
  signed_size = last.checkpoint.size;
  merkle::TileBuilder tree;
  if (signed_size > 0) {
    RETURN_IF_ERROR(RehashTo(store, head.name(), {signed_size, last.checkpoint.root}, tree));
  }
  LedgerPoint end{head.size(), {}};
  if (head.root_hash().size() != end.root.size()) {
    return absl::DataLossError(absl::StrCat(head.name(), ": its head has no root"));
  }
  std::copy(head.root_hash().begin(), head.root_hash().end(), end.root.begin());
  return RehashTo(store, head.name(), end, tree);
}

absl::Status CheckStore(LedgerReader& store, const CheckpointFile& outside, Recovered& recovered) {
  Registry registry;
  RETURN_IF_ERROR(registry.CatchUp(store.checkpoints()));
  RETURN_IF_ERROR(CheckSecondPlace(store, registry, outside));
  RETURN_IF_ERROR(CheckLedgers(store, registry));
  recovered.registry_size = registry.size();
  ASSIGN_OR_RETURN(const std::vector<std::string> copies, outside.Read());
  for (const std::string& copy : copies) {
    const absl::StatusOr<merkle::Note> note = merkle::Note::Parse(copy);
    if (!note.ok()) continue;
    const auto checkpoint = merkle::OpenCheckpoint(*note, registry.origin(), registry.keys());
    if (!checkpoint.ok()) continue;
    recovered.checkpoint_size = std::max(recovered.checkpoint_size, checkpoint->size);
  }
  std::string after;
  while (true) {
    ASSIGN_OR_RETURN(const std::vector<v1::Ledger> page,
                     store.List("projects/-", after, kPageLedgers, kNoWriters));
    for (const v1::Ledger& head : page) {
      uint64_t signed_size = 0;
      RETURN_IF_ERROR(CheckEntries(store, registry, head, signed_size));
      recovered.ledgers.push_back({head.name(), head.size(), signed_size});
    }
    if (page.size() < kPageLedgers) return absl::OkStatus();
    after = page.back().name();
  }
}

absl::Status Rename(const fs::path& from, const fs::path& to) {
  // renameat2 would refuse an existing name at once; here both names are ours.
  if (::access(to.c_str(), F_OK) == 0) {
    return Refused(absl::StrCat(to.string(), ": is there already"), "RECOVERY_EXISTS");
  }
  if (::rename(from.c_str(), to.c_str()) == 0) return absl::OkStatus();
  return ErrnoError(errno, "rename", from.string());
}

}  // namespace

absl::StatusOr<Recovered> Recover(const RecoveryOptions& options) {
  fs::path folder = fs::path(options.folder).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();  // "store/"
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    return absl::NotFoundError(absl::StrCat(folder.string(), ": there is no such folder"));
  }
  ASSIGN_OR_RETURN(const FolderLock lock,
                   FolderLock::Take(folder.string(), FolderLock::Kind::kExclusive));
  const CheckpointFile outside(options.checkpoint_file);
  ASSIGN_OR_RETURN(const std::vector<std::string> copies, outside.Read());
  if (copies.empty()) {
    return Refused(absl::StrCat(outside.path(),
                                ": is not there; what a damaged store may drop is told by the last "
                                "checkpoint that was kept outside it. Give one with --checkpoint"),
                   "NO_CHECKPOINT");
  }
  // A log that a server replays needs no cut.
  const bool opens =
      CheckLogs(folder.string()).ok() && CheckSyncedAtRest(folder.string()).ok() &&
      OpenReadOnly(folder.string(), rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords)
          .status.ok();

  const fs::path copy = folder.string() + ".recovering";
  RETURN_IF_ERROR(Copy(folder, copy));
  absl::Cleanup remove_copy = [&] {
    std::error_code ignored;
    fs::remove_all(copy, ignored);
  };
  if (!opens) RETURN_IF_ERROR(CutLogs(copy.string()));
  Recovered recovered;
  {
    ASSIGN_OR_RETURN(const std::unique_ptr<LedgerStore> store,
                     OpenEmbeddedStore({.folder = copy.string()}));
    RETURN_IF_ERROR(CheckStore(*store, outside, recovered));
  }
  if (opens) {
    return Refused(absl::StrCat(folder.string(),
                                ": its log is not damaged, and it holds all that was signed: "
                                "there is nothing to recover"),
                   "NOTHING_TO_RECOVER");
  }
  struct stat original = {};
  if (::stat(folder.c_str(), &original) != 0) return ErrnoError(errno, "stat", folder.string());
  RETURN_IF_ERROR(SyncAll(copy.string(), original));
  const fs::path kept =
      absl::StrCat(folder.string(), ".damaged-",
                   absl::FormatTime("%Y%m%dT%H%M%SZ", options.now, absl::UTCTimeZone()));
  RETURN_IF_ERROR(Rename(folder, kept));
  if (absl::Status renamed = Rename(copy, folder); !renamed.ok()) {
    RETURN_IF_ERROR(Rename(kept, folder));
    return renamed;
  }
  std::move(remove_copy).Cancel();
  RETURN_IF_ERROR(SyncDirectory(ParentOf(folder)));
  recovered.kept_as = kept.string();
  return recovered;
}

}  // namespace dpledger::embedded
