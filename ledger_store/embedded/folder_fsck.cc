#include "ledger_store/embedded/folder_fsck.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/hex.h"
#include "base/status.h"
#include "ledger_store/embedded/database.h"
#include "ledger_store/embedded/folder_lock.h"
#include "ledger_store/embedded/read_only_database.h"
#include "ledger_store/embedded/surviving_records.h"
#include "ledger_store/embedded/surviving_store.h"
#include "ledger_store/embedded/synced_record.h"

namespace dpledger::embedded {
namespace {

// What a server would see is what the files hold.
absl::Status CompareWithDatabase(rocksdb::DB& db, SurvivingRecords& records, FsckReport& report) {
  rocksdb::ReadOptions options;
  options.fill_cache = false;
  const std::unique_ptr<rocksdb::Iterator> it(db.NewIterator(options));
  it->SeekToFirst();
  bool readable = true;
  uint64_t hidden = 0;
  std::string first_hidden;
  const auto compare = [&](std::string_view key, std::string_view value) {
    if (it->status().ok() && it->Valid() && ToView(it->key()) < key) {
      report.Add(absl::StrCat("the record under the key ", HexEncode(ToView(it->key()))),
                 "is in the database, but in none of its files");
      it->Seek(rocksdb::Slice(key.data(), key.size()));
    }
    if (!it->status().ok()) {
      readable = false;
      return absl::CancelledError("");
    }
    if (it->Valid() && ToView(it->key()) == key) {
      if (ToView(it->value()) != value) {
        report.Add(absl::StrCat("the record under the key ", HexEncode(key)),
                   "the database does not have the latest one that its files hold");
      }
      it->Next();
    } else {
      if (hidden++ == 0) first_hidden = HexEncode(key);
    }
    return absl::OkStatus();
  };
  const absl::Status compared = records.Scan("", "", compare);
  if (!absl::IsCancelled(compared)) RETURN_IF_ERROR(compared);
  if (hidden > 0) {
    report.Add(
        "the database",
        absl::StrCat("passes over ", hidden,
                     " records that its files hold, the first under the key ", first_hidden));
  }
  if (!readable) {
    report.Add("the database",
               absl::StrCat("cannot be read to its end: ", it->status().ToString()));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status FsckFolder(const std::string& folder, const FsckOptions& options, FsckReport& report) {
  ASSIGN_OR_RETURN(const FolderLock lock, FolderLock::Take(folder, FolderLock::Kind::kShared));
  ASSIGN_OR_RETURN(const std::unique_ptr<SurvivingRecords> records, SurvivingRecords::Open(folder));
  records->VerifyTables([&](uint64_t) {
    if (options.progress) options.progress(report);
  });

  ReadOnlyDatabase database =
      OpenReadOnly(folder, rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords);
  FsckReport of_records;
  ASSIGN_OR_RETURN(const std::unique_ptr<SurvivingStore> store,
                   SurvivingStore::Open(*records, options.keys, of_records));
  FsckReport of_database;
  if (database.db != nullptr) {
    RETURN_IF_ERROR(CompareWithDatabase(*database.db, *records, of_database));
  }
  // Files first: what else is amiss mostly follows from them.
  for (const Damage& damage : records->damage()) report.Add(damage.place, damage.what);
  for (const std::string& complaint : database.complaints) report.Add("the database", complaint);
  if (database.db == nullptr) {
    report.Add("the database", absl::StrCat("does not open: ", database.status.ToString()));
  }
  ASSIGN_OR_RETURN(const SyncedRecord synced, ReadSyncedRecord(folder));
  if (synced.damaged) report.Add(kSyncedRecordFile, "is damaged");
  if (database.db != nullptr) {
    const absl::Status reached =
        CheckSynced(folder, synced, database.db->GetLatestSequenceNumber());
    if (!reached.ok()) report.Add("the database", std::string(reached.message()));
  }
  for (const auto& [file, bytes] : records->torn()) {
    report.Note(absl::StrCat(file, ": ends in ", bytes,
                             " bytes that are no whole record: a write that a crash interrupted"));
  }
  for (const FsckReport* part : {&of_records, &of_database}) {
    for (const Finding& finding : part->findings()) report.Add(finding.place, finding.what);
  }

  const size_t known = records->damage().size();
  Fsck(*store, options, report);
  for (size_t i = known; i < records->damage().size(); ++i) {
    report.Add(records->damage()[i].place, records->damage()[i].what);
  }
  return absl::OkStatus();
}

}  // namespace dpledger::embedded
