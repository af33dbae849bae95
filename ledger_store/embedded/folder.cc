#include "ledger_store/embedded/folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/status.h"
#include "ledger_store/embedded/database.h"
#include "ledger_store/embedded/embedded_store.h"
#include "ledger_store/embedded/ledger_table.h"
#include "ledger_store/embedded/log_scan.h"
#include "ledger_store/embedded/rocksdb_options.h"
#include "ledger_store/embedded/synced_record.h"
#include "rocksdb/sst_file_reader.h"

namespace dpledger::embedded {
namespace {

namespace fs = std::filesystem;

absl::Status SyncFile(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return ErrnoError(errno, "open", path);
  const int failed = ::fsync(fd);
  const int error = errno;
  ::close(fd);
  return failed == 0 ? absl::OkStatus() : ErrnoError(error, "fsync", path);
}

absl::Status GiveTo(const struct stat& owner, const std::string& path) {
  if (owner.st_uid == ::geteuid() && owner.st_gid == ::getegid()) return absl::OkStatus();
  if (::lchown(path.c_str(), owner.st_uid, owner.st_gid) == 0) return absl::OkStatus();
  return ErrnoError(errno, "change the owner of", path);
}

// A table file ends in a footer: the kind of checksums, two handles of two varints each, zeros up
// to a fixed length, format version and magic number. RocksDB does not look at the zeros, and takes
// a version that is lower than it was for granted.
bool FooterIsWhole(const std::string& path) {
  constexpr std::streamoff kFooterBytes = 53;
  constexpr size_t kHandlesEnd = 41;
  constexpr char kFormat = 5;  // rocksdb_options.h; low byte first
  std::ifstream in(path, std::ios::binary);
  std::string footer(kFooterBytes, '\0');
  in.seekg(-kFooterBytes, std::ios::end);
  if (!in.read(footer.data(), kFooterBytes)) return false;
  size_t at = 1;
  for (int varints = 0; varints < 4 && at < kHandlesEnd; ++at) {
    varints += (static_cast<uint8_t>(footer[at]) & 0x80) == 0;
  }
  return footer.find_first_not_of('\0', at) == kHandlesEnd && footer[kHandlesEnd] == kFormat;
}

// Opening the database reads few blocks of the table files.
absl::Status CheckTables(const std::string& folder, const FsckOptions& options,
                         FsckReport& report) {
  std::error_code error;
  std::set<std::string> tables;
  bool is_store = false;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const fs::path& path = it->path();
    if (path.extension() == ".sst") tables.insert(path.string());
    is_store |=
        path.extension() == ".sst" || path.extension() == ".log" || path.filename() == "CURRENT";
  }
  if (error) return ErrnoError(error.value(), "read the folder", folder);
  if (!is_store) return absl::NotFoundError(absl::StrCat(folder, ": there is no store in it"));
  for (const std::string& path : tables) {
    rocksdb::SstFileReader table(DatabaseOptions(nullptr));
    rocksdb::Status status = table.Open(path);
    if (status.ok()) status = table.VerifyChecksum();
    if (!status.ok()) {
      report.Add(path, status.ToString());
    } else if (!FooterIsWhole(path)) {
      report.Add(path, "its footer is not as the store writes it");
    }
    if (options.progress) options.progress(report);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<FolderLock> FolderLock::Take(const std::string& folder, Kind kind) {
  const std::string path = absl::StrCat(folder, "/LOCK");
  const bool exclusive = kind == Kind::kExclusive;
  const int fd = ::open(path.c_str(), (exclusive ? O_RDWR : O_RDONLY) | O_CLOEXEC);
  if (fd < 0) {
    if (errno == ENOENT || (errno == EROFS && exclusive)) return FolderLock(-1);
    return ErrnoError(errno, "open", path);
  }
  FolderLock lock(fd);
  // A lock of the open file description: it meets RocksDB's, which is of the process, and goes with
  // this descriptor alone.
  struct flock wanted = {};
  wanted.l_type = exclusive ? F_WRLCK : F_RDLCK;
  wanted.l_whence = SEEK_SET;
  if (::fcntl(fd, F_OFD_SETLK, &wanted) == 0) return lock;
  if (errno != EAGAIN && errno != EACCES) return ErrnoError(errno, "lock", path);
  return WithReason(absl::FailedPreconditionError(absl::StrCat(
                        folder,
                        ": a server has this store open; stop it, or look at a snapshot "
                        "of the folder")),
                    {"STORE_IN_USE", {{"folder", folder}}});
}

absl::Status SyncAll(const std::string& folder, const struct stat& like) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    RETURN_IF_ERROR(GiveTo(like, it->path().string()));
    RETURN_IF_ERROR(SyncFile(it->path().string()));
  }
  if (error) return ErrnoError(error.value(), "read the folder", folder);
  RETURN_IF_ERROR(GiveTo(like, folder));
  if (::chmod(folder.c_str(), like.st_mode & 07777) != 0) {
    return ErrnoError(errno, "change the mode of", folder);
  }
  return SyncDirectory(folder);
}

absl::Status FsckFolder(const std::string& folder, const FsckOptions& options, FsckReport& report) {
  ASSIGN_OR_RETURN(const FolderLock lock, FolderLock::Take(folder, FolderLock::Kind::kShared));
  RETURN_IF_ERROR(CheckTables(folder, options, report));
  const absl::StatusOr<CheckedLogs> logs = CheckLogs(folder);
  if (!logs.ok() && !absl::IsDataLoss(logs.status())) return logs.status();
  report.Add("the logs", logs.status());
  for (const TornLog& log : logs.ok() ? logs->torn : std::vector<TornLog>()) {
    report.Note(absl::StrCat(log.path, ": ends within a record: a write that a crash interrupted"));
  }
  ASSIGN_OR_RETURN(const SyncedRecord synced, ReadSyncedRecord(folder));
  if (synced.damaged) report.Add(kSyncedRecordFile, "is damaged");

  std::unique_ptr<rocksdb::DB> opened;
  if (const rocksdb::Status status = OpenReadOnly(folder, opened); !status.ok()) {
    report.Add("the database", absl::StrCat("does not open: ", status.ToString()));
    return absl::OkStatus();
  }
  rocksdb::DB& db = *opened;
  report.Add("the database", CheckSynced(folder, synced, db.GetLatestSequenceNumber()));
  const absl::Status version = CheckVersion(db, folder);
  if (absl::IsFailedPrecondition(version)) return version;
  report.Add("the database", version);
  const auto store = OpenSteppedStore(std::move(opened), *Clock::System());
  report.Add("the database", store.status());
  if (!store.ok()) return absl::OkStatus();
  if (options.keys.current != nullptr) {
    report.Add("the heads", LedgerTable::Load(db, options.keys).status());
  }
  Fsck(**store, options, report);
  return absl::OkStatus();
}

}  // namespace dpledger::embedded

namespace dpledger {

bool HoldsEmbeddedStore(const std::string& folder) {
  std::error_code ignored;
  return std::filesystem::exists(folder + "/CURRENT", ignored);
}

absl::StatusOr<std::unique_ptr<LedgerReader>> OpenEmbeddedToRead(const std::string& folder,
                                                                 const HeadKeys& keys) {
  using namespace embedded;
  ASSIGN_OR_RETURN(FolderLock lock, FolderLock::Take(folder, FolderLock::Kind::kShared));
  ASSIGN_OR_RETURN(const CheckedLogs logs, CheckLogs(folder));
  RETURN_IF_ERROR(CheckSyncedAtRest(folder, logs.last_sequence));
  std::unique_ptr<rocksdb::DB> db;
  if (const rocksdb::Status opened = OpenReadOnly(folder, db); !opened.ok()) {
    return DiskError(absl::StrCat("read the store in ", folder), opened);
  }
  RETURN_IF_ERROR(CheckVersion(*db, folder));
  return OpenSteppedStore(std::move(db), *Clock::System(), keys,
                          std::make_shared<FolderLock>(std::move(lock)));
}

}  // namespace dpledger
