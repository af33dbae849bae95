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
#include "merkle/compact_tree.h"

namespace dpledger::embedded {
namespace {

// Requests are stored with the receipts that they were answered: these must be what the entries
// give.
class ReceiptCheck {
 public:
  ReceiptCheck(SurvivingStore& store, FsckReport& report) : store_(store), report_(report) {}

  void BeforeEntry(const std::string& ledger, const bundle::EntryFrame& entry,
                   const merkle::TileBuilder& tree) {
    if (tree.size() == 0) Reset();
    if (tree.size() > 0 && entry.request_id == request_id_ && entry.writer == writer_ &&
        entry.body != v1::LedgerEntry::kForkNoticeFieldNumber && answered_) {
      return;
    }
    EndBatch(ledger, tree);
    request_id_ = entry.request_id;
    writer_ = entry.writer;
    first_ = tree.size();
    // A fork is answered in the child; its notice in the parent has no request of its own there.
    answered_ = entry.body != v1::LedgerEntry::kForkNoticeFieldNumber;
    if (answered_) ++requests_;
  }

  void AfterLedger(const std::string& ledger, const merkle::TileBuilder& tree) {
    EndBatch(ledger, tree);
    const SurvivingStore::Ledger* stored = store_.FindByName(ledger);
    if (stored != nullptr && stored->requests != requests_) {
      report_.Add(ledger, absl::StrCat("has records of ", stored->requests,
                                       " answered requests, its entries are those of ", requests_));
    }
  }

 private:
  void Reset() {
    requests_ = 0;
    first_ = 0;
    answered_ = false;
  }

  void EndBatch(const std::string& ledger, const merkle::TileBuilder& tree) {
    if (!answered_ || tree.size() == first_) return;
    const std::string place = absl::StrCat(ledger, ": request ", request_id_);
    const absl::StatusOr<v1::StoredRequest> request = store_.Request(ledger, request_id_);
    if (!request.ok()) return report_.Add(place, request.status());
    const v1::Receipt& receipt = request->receipt();
    if (request->request_hash().size() != sizeof(merkle::Hash)) {
      report_.Add(place, "its record has no request hash");
    }
    if (receipt.first_sequence() != first_ || receipt.count() != tree.size() - first_ ||
        receipt.size() != tree.size() || receipt.root_hash() != merkle::ToBytes(tree.Root())) {
      report_.Add(place, absl::StrCat("its receipt is not that of entries ", first_, " to ",
                                      tree.size() - 1));
    }
  }

  SurvivingStore& store_;
  FsckReport& report_;
  std::string request_id_;
  std::string writer_;
  uint64_t first_ = 0;
  bool answered_ = false;
  uint64_t requests_ = 0;
};

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
                   SurvivingStore::Open(*records, of_records));
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

  ReceiptCheck receipts(*store, report);
  FsckOptions with_receipts = options;
  with_receipts.before_entry = [&](const std::string& ledger, const bundle::EntryFrame& entry,
                                   const merkle::TileBuilder& tree) {
    receipts.BeforeEntry(ledger, entry, tree);
  };
  with_receipts.after_ledger = [&](const std::string& ledger, const merkle::TileBuilder& tree) {
    receipts.AfterLedger(ledger, tree);
  };
  const size_t known = records->damage().size();
  Fsck(*store, with_receipts, report);
  for (size_t i = known; i < records->damage().size(); ++i) {
    report.Add(records->damage()[i].place, records->damage()[i].what);
  }
  return absl::OkStatus();
}

}  // namespace dpledger::embedded
