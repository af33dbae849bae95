#include "ledger_store/embedded/folder_fsck.h"

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
#include "ledger_store/embedded/folder_lock.h"
#include "ledger_store/embedded/ledger_table.h"
#include "ledger_store/embedded/log_scan.h"
#include "ledger_store/embedded/read_only_database.h"
#include "ledger_store/embedded/rocksdb_options.h"
#include "ledger_store/embedded/stepped_store.h"
#include "ledger_store/embedded/synced_record.h"
#include "rocksdb/sst_file_reader.h"

namespace dpledger::embedded {
namespace {

namespace fs = std::filesystem;

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

absl::Status FsckFolder(const std::string& folder, const FsckOptions& options, FsckReport& report) {
  ASSIGN_OR_RETURN(const FolderLock lock, FolderLock::Take(folder, FolderLock::Kind::kShared));
  RETURN_IF_ERROR(CheckTables(folder, options, report));
  const absl::StatusOr<std::vector<TornLog>> torn = CheckLogs(folder);
  if (!torn.ok() && !absl::IsDataLoss(torn.status())) return torn.status();
  report.Add("the logs", torn.status());
  for (const TornLog& log : torn.ok() ? *torn : std::vector<TornLog>()) {
    report.Note(absl::StrCat(log.path, ": ends within a record: a write that a crash interrupted"));
  }
  ASSIGN_OR_RETURN(const SyncedRecord synced, ReadSyncedRecord(folder));
  if (synced.damaged) report.Add(kSyncedRecordFile, "is damaged");

  ReadOnlyDatabase database =
      OpenReadOnly(folder, rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords);
  if (database.db == nullptr) {
    report.Add("the database", absl::StrCat("does not open: ", database.status.ToString()));
    return absl::OkStatus();
  }
  rocksdb::DB& db = *database.db;
  report.Add("the database", CheckSynced(folder, synced, db.GetLatestSequenceNumber()));
  const absl::Status version = CheckVersion(db, folder);
  if (absl::IsFailedPrecondition(version)) return version;
  report.Add("the database", version);
  const auto store = OpenSteppedStore(std::move(database.db), *Clock::System());
  report.Add("the database", store.status());
  if (!store.ok()) return absl::OkStatus();
  if (options.keys.current != nullptr) {
    report.Add("the heads", LedgerTable::Load(db, options.keys).status());
  }
  Fsck(**store, options, report);
  return absl::OkStatus();
}

}  // namespace dpledger::embedded
