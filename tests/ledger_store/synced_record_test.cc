// The record of what was synced: it tells that the newest log is gone, and never accuses a store
// that has lost nothing.
#include "ledger_store/embedded/synced_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <random>
#include <stop_token>
#include <thread>

#include "absl/time/clock.h"
#include "ledger_store/embedded/database.h"
#include "ledger_store/embedded/folder.h"
#include "ledger_store/embedded/keys.h"
#include "ledger_store/embedded/log_scan.h"
#include "ledger_store/embedded/recovery.h"
#include "tests/ledger_store/damaged_store.h"
#include "tests/ledger_store/signed_store.h"

namespace dpledger::embedded {
namespace {

namespace fs = std::filesystem;
using absl::StatusCode;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SyncedRecordTest : public SignedStore {
 protected:
  // What a process leaves that is killed now. The record first: it is at most as far as the log.
  std::string Killed() {
    const std::string copy = absl::StrCat(copies_.path(), "/", copy_count_++);
    fs::create_directory(copy);
    if (fs::exists(RecordIn(StoreFolder()))) {
      fs::copy_file(RecordIn(StoreFolder()), RecordIn(copy));
    }
    for (const auto& file : fs::directory_iterator(StoreFolder())) {
      const std::string name = file.path().filename();
      if (name != kSyncedRecordFile) fs::copy_file(file.path(), copy + "/" + name);
    }
    return copy;
  }
  // The same of a store that moves its files about meanwhile: opened again, it compacts tables.
  std::string Closed() {
    store_.reset();
    const std::string copy = Killed();
    OpenStore();
    return copy;
  }
  static std::string RecordIn(const std::string& folder) {
    return absl::StrCat(folder, "/", kSyncedRecordFile);
  }
  static std::string NewestLog(const std::string& folder) {
    std::string newest;
    for (const auto& file : fs::directory_iterator(folder)) {
      if (file.path().extension() == ".log") newest = std::max(newest, file.path().string());
    }
    return newest;
  }
  static absl::Status Start(const std::string& folder) {
    return OpenEmbeddedStore({.folder = folder}).status();
  }
  static std::vector<std::string> Fsck(const std::string& folder) {
    FsckReport report;
    const absl::Status status = FsckFolder(folder, {}, report);
    EXPECT_TRUE(status.ok()) << status;
    std::vector<std::string> texts;
    for (const Finding& finding : report.findings()) texts.push_back(finding.what);
    return texts;
  }
  // Whether the log's record with this write holds a run-length table and nothing else.
  static bool IsHistoryAlone(const std::string& log, uint64_t sequence) {
    bool found = false;
    bool alone = false;
    const auto scan = ScanLog(log, [&](std::string_view batch) {
      // sequence:u64 ‖ count:u32, little-endian, ‖ type ‖ length of the key ‖ key
      const rocksdb::WriteBatch parsed{std::string(batch)};
      uint64_t first = 0;
      for (int i = 7; i >= 0; --i) first = first << 8 | static_cast<uint8_t>(batch[i]);
      if (sequence < first || sequence >= first + parsed.Count()) return;
      found = true;
      alone = parsed.Count() == 1 && batch.substr(14, 1) == HistoryKey(0).substr(0, 1);
    });
    EXPECT_TRUE(scan.ok() && found) << scan.status();
    return alone;
  }
  static uint64_t EndOf(const std::string& folder) {
    std::unique_ptr<rocksdb::DB> db;
    const rocksdb::Status status = OpenReadOnly(folder, db);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return db == nullptr ? 0 : db->GetLatestSequenceNumber();
  }

  TempFolder copies_{MemoryFolder()};
  int copy_count_ = 0;
};

TEST_F(SyncedRecordTest, NamesTheLastSyncedWrite) {
  for (int i = 0; i < 5; ++i) {
    i == 0 ? Create(kLedger) : AppendNotes(kLedger, i);
    const std::string copy = Closed();  // the record outlives a restart
    const auto record = ReadSyncedRecord(copy);
    ASSERT_TRUE(record.ok() && record->last.has_value() && !record->damaged) << record.status();
    EXPECT_EQ(record->last->sequence, EndOf(copy));
  }
  MustOpen(Options(), *store_);
  const std::string copy = Closed();
  EXPECT_EQ(ReadSyncedRecord(copy)->last->sequence, EndOf(copy));
}

// RocksDB opens every one of them without a word.
TEST_F(SyncedRecordTest, TellsThatTheNewestLogIsGoneZeroedOrCut) {
  std::mt19937 random(7);
  Create(kLedger);
  OpenStore();  // so that a store is left without its log
  for (int i = 0; i < 100; ++i) {
    for (uint64_t batches = 1 + random() % 5; batches > 0; --batches) AppendNotes(kLedger, 1);
    const std::string sound = Closed();
    const std::string damaged = sound + "-damaged";
    fs::copy(sound, damaged);
    EXPECT_THAT(Fsck(sound), IsEmpty());
    EXPECT_EQ(Start(sound), absl::OkStatus());
    const std::string log = NewestLog(damaged);
    const uint64_t bytes = fs::file_size(log);
    ASSERT_LT(bytes, 32768u);  // longer ones are found without the record
    if (i % 3 == 0) fs::remove(log);
    if (i % 3 == 1) WriteTo(log, std::string(bytes, '\0'));
    if (i % 3 == 2) fs::resize_file(log, random() % bytes);
    SCOPED_TRACE(absl::StrCat("damage ", i % 3));
    EXPECT_THAT(Fsck(damaged), Contains(HasSubstr("the end of the log is missing")));
    const auto before = FilesIn(damaged);
    EXPECT_TRUE(IsError(Start(damaged), StatusCode::kDataLoss, "STORE_WENT_BACK",
                        "the end of the log is missing: it ends at write"));
    EXPECT_EQ(FilesIn(damaged), before);  // what is left stays as it is
    // The control.
    fs::remove(RecordIn(damaged));
    EXPECT_THAT(Fsck(damaged), IsEmpty());
    EXPECT_EQ(Start(damaged), absl::OkStatus());
    fs::remove_all(sound);
    fs::remove_all(damaged);
  }
}

TEST_F(SyncedRecordTest, DoesNotCountWritesThatNobodySynced) {
  Create(kLedger);
  // Few enough that RocksDB moves no file while it is copied.
  std::jthread histories([&](std::stop_token stop) {
    while (!stop.stop_requested()) {
      EXPECT_TRUE(store_->PutHistory(kLedger, {}).ok());
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  });
  for (int i = 0; i < 30; ++i) {
    AppendNotes(kLedger, 1);
    const auto record = ReadSyncedRecord(StoreFolder());
    ASSERT_TRUE(record.ok() && record->last.has_value());
    const std::string copy = Killed();
    EXPECT_LE(record->last->sequence, EndOf(copy));
    EXPECT_FALSE(IsHistoryAlone(NewestLog(copy), record->last->sequence));
    EXPECT_EQ(CheckSyncedAtRest(copy, CheckLogs(copy)->last_sequence), absl::OkStatus());
  }
  histories.request_stop();
  histories.join();
  const uint64_t synced = ReadSyncedRecord(StoreFolder())->last->sequence;
  ASSERT_TRUE(store_->PutHistory(kLedger, {}).ok());
  EXPECT_EQ(ReadSyncedRecord(StoreFolder())->last->sequence, synced);
}

TEST_F(SyncedRecordTest, OneMissingWriteIsEnough) {
  const SyncedRecord record{.last = SyncedPoint{.sequence = 7, .store_id = "a"}};
  EXPECT_EQ(CheckSynced("f", record, 8), absl::OkStatus());
  EXPECT_EQ(CheckSynced("f", record, 7), absl::OkStatus());
  EXPECT_TRUE(IsError(CheckSynced("f", record, 6), StatusCode::kDataLoss, "STORE_WENT_BACK",
                      "f: the end of the log is missing: it ends at write 6, but write 7 was"));
  EXPECT_EQ(CheckSynced("f", SyncedRecord(), 0), absl::OkStatus());
}

TEST_F(SyncedRecordTest, OneDamagedSlotLeavesTheOther) {
  Create(kLedger);
  AppendNotes(kLedger, 1);
  AppendNotes(kLedger, 1);
  const std::string copy = Killed();
  const auto sound = ReadSyncedRecord(copy);
  std::string content = FilesIn(copy).at(kSyncedRecordFile);
  content[sound->slot * 512 + 3] ^= 1;
  WriteTo(RecordIn(copy), content);
  const auto damaged = ReadSyncedRecord(copy);
  ASSERT_TRUE(damaged.ok() && damaged->last.has_value()) << damaged.status();
  EXPECT_TRUE(damaged->damaged);
  EXPECT_LT(damaged->last->sequence, sound->last->sequence);
  EXPECT_THAT(Fsck(copy), Contains("is damaged"));
  EXPECT_EQ(Start(copy), absl::OkStatus());
}

TEST_F(SyncedRecordTest, OfAnotherStoreIsRefused) {
  Create(kLedger);
  const std::string copy = Killed();
  TempFolder other;
  ASSERT_TRUE(Start(other.path() + "/store").ok());
  {
    auto store = OpenEmbeddedStore({.folder = other.path() + "/store"});
    ASSERT_TRUE((*store)->Create(CreateRequest(kLedger)).ok());
  }
  fs::remove(RecordIn(copy));
  fs::copy_file(RecordIn(other.path() + "/store"), RecordIn(copy));
  EXPECT_TRUE(IsError(Start(copy), StatusCode::kDataLoss, "STORE_WENT_BACK",
                      "SYNCED: belongs to another store"));
}

TEST_F(SyncedRecordTest, StoreWhoseDatabaseIsGoneIsNotMadeAnew) {
  Create(kLedger);
  const std::string copy = Killed();
  for (const auto& [path, content] : FilesIn(copy)) {
    if (path != kSyncedRecordFile) fs::remove(absl::StrCat(copy, "/", path));
  }
  EXPECT_TRUE(IsError(Start(copy), StatusCode::kDataLoss, "STORE_WENT_BACK", "ends at write 0"));
}

TEST_F(SyncedRecordTest, RecoverKeepsAStoreWithoutWhatWasNotSigned) {
  Create(kLedger);
  AppendNotes(kLedger, 3);
  MustOpen(Options(), *store_);
  AppendNotes(kLedger, 1);
  const std::string copy = Killed();
  fs::resize_file(NewestLog(copy), fs::file_size(NewestLog(copy)) - 1);
  ASSERT_TRUE(absl::IsDataLoss(Start(copy)));
  const std::string to = copy + "-saved";
  const auto recovered =
      Recover({.folder = copy, .to = to, .fsck = {.checkpoint_file = CheckpointPath()}});
  ASSERT_TRUE(recovered.ok()) << recovered.status();
  EXPECT_TRUE(recovered->has_store);
  EXPECT_EQ(recovered->bundled, 4u);
  EXPECT_EQ(Start(to + "/store"), absl::OkStatus());
}

}  // namespace
}  // namespace dpledger::embedded
