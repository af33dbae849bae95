// Fsck, dump and recover on a store that is whole, and on one damaged in ways that are known.
#include "ledger_store/evidence/fsck.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <memory>

#include "absl/strings/str_cat.h"
#include "ledger_store/embedded/embedded_store.h"
#include "ledger_store/embedded/folder_fsck.h"
#include "ledger_store/embedded/head_row.h"
#include "ledger_store/embedded/keys.h"
#include "ledger_store/embedded/log_scan.h"
#include "ledger_store/embedded/recovery.h"
#include "ledger_store/embedded/rocksdb_options.h"
#include "rocksdb/db.h"
#include "tests/ledger_store/damaged_store.h"
#include "tests/ledger_store/requests.h"

namespace dpledger {
namespace {

using embedded::BatchKey;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Fsck : public DamagedStore {
 protected:
  using Records = std::map<std::string, std::string>;

  // A copy whose records are changed and written anew, so that RocksDB's checksums agree with what
  // is wrong.
  std::string Tampered(const std::function<void(Records&)>& change) {
    std::string copy = NewCopy();
    Records records;
    {
      const auto db = OpenRaw(StoreIn(copy));
      const std::unique_ptr<rocksdb::Iterator> it(db->NewIterator({}));
      for (it->SeekToFirst(); it->Valid(); it->Next()) {
        records[it->key().ToString()] = it->value().ToString();
      }
    }
    std::filesystem::remove_all(StoreIn(copy));
    change(records);
    const auto db = OpenRaw(StoreIn(copy));
    for (const auto& [key, value] : records) EXPECT_TRUE(db->Put({}, key, value).ok());
    EXPECT_TRUE(db->Flush({}).ok());
    return copy;
  }
  std::string Tampered(const std::string& key, const std::function<void(std::string&)>& change) {
    return Tampered([&](Records& records) {
      ASSERT_TRUE(records.contains(key));
      change(records[key]);
    });
  }
  std::string Removed(const std::string& key) {
    return Tampered([&](Records& records) { EXPECT_EQ(records.erase(key), 1u); });
  }
  static std::unique_ptr<rocksdb::DB> OpenRaw(const std::string& folder) {
    rocksdb::DB* opened = nullptr;
    EXPECT_TRUE(rocksdb::DB::Open(embedded::DatabaseOptions(nullptr), folder, &opened).ok());
    return std::unique_ptr<rocksdb::DB>(opened);
  }
  std::vector<std::string> FindingsOf(const std::string& copy) { return Texts(FsckOf(copy)); }
};

const auto kFlipLast = [](std::string& value) { value.back() ^= 1; };

TEST_F(Fsck, FindsNothingInAWholeStoreAndChangesNothing) {
  const std::string copy = NewCopy();
  const auto before = FilesIn(copy);
  const auto changed = std::filesystem::last_write_time(StoreIn(copy));
  const FsckReport report = FsckOf(copy);
  EXPECT_THAT(Texts(report), IsEmpty());
  EXPECT_THAT(report.notes(), ElementsAre(HasSubstr("no signing key was given")));
  EXPECT_EQ(report.entries, TrueEntries());
  EXPECT_EQ(report.ledgers, truth().entries.size() - 1);
  EXPECT_EQ(report.registry_entries, truth().entries.at("").size());
  EXPECT_GT(report.tiles, 10u);
  EXPECT_TRUE(FilesIn(copy) == before);
  EXPECT_EQ(std::filesystem::last_write_time(StoreIn(copy)), changed);
}

// Each is damage that RocksDB's own checksums agree with: a fault of this program, or a forgery.
TEST_F(Fsck, NamesAMissingBatch) {
  const std::string copy = Removed(BatchKey(0, 1));
  EXPECT_THAT(FindingsOf(copy),
              Contains(HasSubstr(absl::StrCat(kLedger, ": entries 1 to 700 are missing"))));
  EXPECT_THAT(FindingsOf(copy), Contains(absl::StrCat(kLedger, ": entries 1 to 700: ", kLedger,
                                                      ": entry 1 is missing")));
}

TEST_F(Fsck, NamesAShortBatch) {
  const std::string copy =
      Tampered(BatchKey(0, 1), [](std::string& value) { value.resize(value.size() / 2); });
  EXPECT_THAT(FindingsOf(copy), Contains(HasSubstr(": batch 0000000000000001: does not parse")));
}

TEST_F(Fsck, NamesAChangedEntry) {
  const auto findings = FindingsOf(Tampered(BatchKey(0, 1), kFlipLast));
  EXPECT_THAT(findings,
              Contains(HasSubstr(absl::StrCat(kLedger, ": tile of level 0 and index 2: differs"))));
  EXPECT_THAT(findings, Contains(HasSubstr(absl::StrCat(kLedger, ": checkpoint: signs the root"))));
  EXPECT_THAT(findings, Contains(HasSubstr(absl::StrCat(kLedger, ": head: says the root"))));
  EXPECT_THAT(findings, Contains(HasSubstr("its receipt is not that of entries 1 to 700")));
}

TEST_F(Fsck, NamesAChangedTile) {
  const auto findings = FindingsOf(Tampered(embedded::TileKey(0, {0, 1}), kFlipLast));
  EXPECT_THAT(findings,
              Contains(HasSubstr(absl::StrCat(kLedger, ": tile of level 0 and index 1: differs"))));
}

TEST_F(Fsck, NamesAMissingTile) {
  const auto findings = FindingsOf(Removed(embedded::TileKey(embedded::kRegistryId, {0, 0})));
  EXPECT_THAT(findings, Contains("the registry: tile of level 0 and index 0: is missing"));
}

TEST_F(Fsck, NamesAForgedReceiptAndALostOne) {
  const auto forge = [](std::string& value) {
    v1::StoredRequest request;
    ASSERT_TRUE(request.ParseFromString(value));
    request.mutable_receipt()->set_size(18);
    value = request.SerializeAsString();
  };
  EXPECT_THAT(
      FindingsOf(Tampered(embedded::RequestKey(1, "round-7"), forge)),
      ElementsAre("projects/p/ledgers/b: request round-7: its receipt is not that of entries 15 "
                  "to 16"));
  EXPECT_THAT(FindingsOf(Removed(embedded::RequestKey(1, "round-7"))),
              ElementsAre("projects/p/ledgers/b: request round-7: there is no record of it",
                          "projects/p/ledgers/b: has records of 300 answered requests, its "
                          "entries are those of 301"));
}

// A CONFLICT bears the id of the batch that was refused; once fsck missed an answer to it.
TEST_F(Fsck, KnowsThatRefusedBatchesHaveNoAnswer) {
  const std::string copy = NewCopy();
  {
    const auto store = *OpenEmbeddedStore({.folder = StoreIn(copy)});
    ASSERT_TRUE(store->Create(CreateRequest("projects/p/ledgers/conflicts")).ok());
    v1::AppendBatchRequest opening = Batch("projects/p/ledgers/conflicts", "w", "open");
    opening.set_incarnation("i1");
    opening.add_entries()->mutable_opened()->set_incarnation("i1");
    ASSERT_TRUE(store->Append(opening).ok());
    const absl::Status fenced =
        store->Append(RoundBatch("projects/p/ledgers/conflicts", "w", "late", 1)).status();
    EXPECT_EQ(ReasonOf(fenced).reason, "FENCED_OFF");
    EXPECT_EQ(store->Get("projects/p/ledgers/conflicts")->size(), 3u);
  }
  EXPECT_THAT(FindingsOf(copy), IsEmpty());
}

TEST_F(Fsck, NamesAHeadThatCountsWrong) {
  const auto forge = [](std::string& value) {
    embedded::HeadRow row;
    ASSERT_TRUE(row.ParseFrom(value));
    row.writer.set_entry_count(row.writer.entry_count() + 1);
    value = row.Serialize();
  };
  EXPECT_THAT(FindingsOf(Tampered(embedded::HeadKey(1, "x"), forge)),
              Contains(HasSubstr("projects/p/ledgers/b: head: projects/p/ledgers/b: its head "
                                 "counts 601 entries, its writers 602")));
}

// What the next append goes by: a writer that has closed, or a round that has begun.
TEST_F(Fsck, NamesAHeadThatSaysOtherThingsOfAWriter) {
  const auto forge = [](std::string& value) {
    embedded::HeadRow row;
    ASSERT_TRUE(row.ParseFrom(value));
    row.writer.set_closed(!row.writer.closed());
    value = row.Serialize();
  };
  EXPECT_THAT(FindingsOf(Tampered(embedded::HeadKey(1, "x"), forge)),
              ElementsAre(HasSubstr("projects/p/ledgers/b: head: says {writer: \"x\"")));
}

TEST_F(Fsck, NamesALostName) {
  const auto findings = FindingsOf(Removed(embedded::NameKey(kLedger)));
  EXPECT_THAT(findings, Contains("ledger id 0: has lost its name"));
  EXPECT_THAT(findings, Contains(HasSubstr("of dpledger-")));
}

TEST_F(Fsck, NamesACheckpointThatWasNotSigned) {
  const auto forge = [](std::string& value) {
    v1::StoredCheckpoint checkpoint;
    ASSERT_TRUE(checkpoint.ParseFromString(value));
    (*checkpoint.mutable_note())[checkpoint.note().size() - 10] ^= 1;
    value = checkpoint.SerializeAsString();
  };
  EXPECT_THAT(FindingsOf(Tampered(embedded::CheckpointKey(0), forge)),
              Contains(HasSubstr(absl::StrCat(kLedger, ": checkpoint: "))));
  EXPECT_THAT(FindingsOf(Tampered(embedded::CheckpointKey(embedded::kRegistryId), forge)),
              Contains(HasSubstr("the registry: ")));
}

TEST_F(Fsck, NamesAGapInTheRegistry) {
  const auto findings = FindingsOf(Removed(embedded::RegistryKey(2)));
  EXPECT_THAT(findings, Contains("the registry: entries 2 to 2 are missing"));
}

TEST_F(Fsck, NamesADamagedRunLengthTable) {
  EXPECT_THAT(FindingsOf(Tampered(embedded::HistoryKey(1), kFlipLast)),
              ElementsAre("the record under the key 730000000000000001: is no run-length table"));
}

TEST_F(Fsck, AsksWhoeverCanToCheckRunLengthTables) {
  FsckReport report;
  std::vector<std::string> asked;
  FsckOptions options;
  options.check_history = [&](LedgerReader& store, const std::string& ledger) {
    asked.push_back(ledger);
    return store.GetHistory(ledger).ok() ? absl::DataLossError("differs") : absl::OkStatus();
  };
  const std::string copy = NewCopy();
  ASSERT_TRUE(embedded::FsckFolder(StoreIn(copy), options, report).ok());
  EXPECT_EQ(asked.size(), truth().entries.size() - 1);
  EXPECT_THAT(Texts(report), ElementsAre("projects/p/ledgers/b: run-length table: differs"));
  EXPECT_THAT(report.notes(), ElementsAre(HasSubstr("no second place was given"),
                                          HasSubstr("no signing key was given")));
}

TEST_F(Fsck, NamesAStoreThatWentBack) {
  const std::string copy = NewCopy();
  WriteTo(CheckpointIn(copy), "no note\n");
  EXPECT_THAT(FindingsOf(copy), ElementsAre(HasSubstr("store.checkpoint: ")));
  // The end of the log, cut between two records, looks to RocksDB like an older store.
  for (const auto& [path, content] : FilesIn(StoreIn(copy))) {
    if (path.ends_with(".log"))
      std::filesystem::resize_file(absl::StrCat(StoreIn(copy), "/", path), 0);
  }
  std::filesystem::remove(CheckpointIn(copy));
  const auto findings = FindingsOf(copy);
  EXPECT_THAT(findings, ElementsAre(HasSubstr("the end of the log is missing"),
                                    HasSubstr("the store holds less than what was signed of it")));
}

TEST_F(Fsck, NamesATableThatTheDatabaseHasForgotten) {
  const std::string copy = NewCopy();
  std::string table;
  for (const auto& [path, content] : FilesIn(StoreIn(copy))) {
    if (path.ends_with(".sst") && table.empty()) table = path;
  }
  const std::string other = Removed(BatchKey(0, 1));
  std::filesystem::copy_file(absl::StrCat(StoreIn(copy), "/", table),
                             absl::StrCat(StoreIn(other), "/900000.sst"));
  EXPECT_THAT(FindingsOf(other), Contains(HasSubstr("the database: passes over")));
}

TEST_F(Fsck, NamesATableWhoseFooterHasAFlippedBit) {
  constexpr size_t kFooterBytes = 53;
  for (size_t place = 1; place <= kFooterBytes; ++place) {
    const std::string copy = NewCopy();
    std::string table;
    for (auto [path, content] : FilesIn(StoreIn(copy))) {
      if (!path.ends_with(".sst") || !table.empty()) continue;
      table = path;
      content[content.size() - place] = static_cast<char>(content[content.size() - place] ^ 4);
      WriteTo(absl::StrCat(StoreIn(copy), "/", path), content);
    }
    EXPECT_THAT(FindingsOf(copy), Contains(HasSubstr(table))) << place << " bytes from the end";
    std::filesystem::remove_all(copy);
  }
}

TEST_F(Fsck, RefusesWhatIsNoStoreOrIsInUse) {
  FsckReport report;
  EXPECT_EQ(embedded::FsckFolder(absl::StrCat(copies_.path(), "/none"), {}, report).code(),
            absl::StatusCode::kNotFound);
  EXPECT_TRUE(IsError(embedded::FsckFolder(copies_.path(), {}, report), absl::StatusCode::kNotFound,
                      "", "there is no store in it"));
  const std::string copy = NewCopy();
  const auto store = OpenEmbeddedStore({.folder = StoreIn(copy)});
  ASSERT_TRUE(store.ok());
  EXPECT_TRUE(IsError(embedded::FsckFolder(StoreIn(copy), {}, report),
                      absl::StatusCode::kFailedPrecondition, "STORE_IN_USE", "stop it"));
  const std::string other = Tampered("v", [](std::string& value) { value = "0"; });
  EXPECT_TRUE(IsError(embedded::FsckFolder(StoreIn(other), {}, report),
                      absl::StatusCode::kFailedPrecondition, "", "this program reads"));
}

TEST_F(Fsck, DumpGivesEveryEntryOfAWholeStoreAndShowsWhatIsSigned) {
  FsckReport skipped;
  const Missing missing = DumpMissing(NewCopy(), skipped);
  EXPECT_EQ(missing.entries, 0u);
  uint64_t signed_entries = 0;
  for (const auto& [log, size] : truth().signed_size) signed_entries += log.empty() ? 0 : size;
  EXPECT_EQ(missing.signed_count, signed_entries);
  EXPECT_THAT(Texts(skipped), IsEmpty());
}

TEST_F(Fsck, DumpShowsEntriesAsSignedByTheRootOfAllWhereTilesAreDamaged) {
  FsckReport skipped;
  const Missing missing = DumpMissing(Removed(embedded::TileKey(1, {0, 1})), skipped);
  uint64_t signed_entries = 0;
  for (const auto& [log, size] : truth().signed_size) signed_entries += log.empty() ? 0 : size;
  EXPECT_EQ(missing.signed_count, signed_entries);
}

TEST_F(Fsck, DumpNamesWhatIsMissing) {
  FsckReport skipped;
  const Missing missing = DumpMissing(Removed(BatchKey(0, 1)), skipped);
  EXPECT_EQ(missing.entries, 700u);
  EXPECT_THAT(Texts(skipped), ElementsAre(absl::StrCat(
                                  kLedger, ": entries 1 to 700: are in no file that can be read")));
}

class Recover : public Fsck {
 protected:
  absl::StatusOr<embedded::Recovered> RecoverIn(const std::string& copy) {
    return embedded::Recover({.folder = StoreIn(copy),
                              .checkpoint_file = CheckpointIn(copy),
                              .now = absl::FromUnixSeconds(1'700'000'040)});
  }
  // A copy whose log has a flipped bit so many bytes before its end, or after its beginning.
  std::string FlippedLog(size_t from_end, size_t from_begin = 0) {
    const std::string copy = NewCopy();
    for (auto [path, content] : FilesIn(StoreIn(copy))) {
      if (!path.ends_with(".log") || content.empty()) continue;
      const size_t place = from_end > 0 ? content.size() - from_end : from_begin;
      content[place] = static_cast<char>(content[place] ^ 16);
      WriteTo(absl::StrCat(StoreIn(copy), "/", path), content);
    }
    return copy;
  }
};

TEST_F(Recover, DropsOnlyWhatFollowsTheLastCheckpoint) {
  const std::string copy = FlippedLog(/*from_end=*/20);
  EXPECT_TRUE(absl::IsDataLoss(Serve(copy).open));
  const auto damaged = FilesIn(StoreIn(copy));
  const auto recovered = RecoverIn(copy);
  ASSERT_TRUE(recovered.ok()) << recovered.status();
  EXPECT_EQ(recovered->registry_size, truth().signed_size.at(""));
  EXPECT_EQ(recovered->checkpoint_size, truth().signed_size.at(""));
  EXPECT_EQ(recovered->ledgers.size(), truth().entries.size() - 1);
  EXPECT_EQ(recovered->kept_as, absl::StrCat(StoreIn(copy), ".damaged-20231114T221400Z"));
  EXPECT_TRUE(FilesIn(recovered->kept_as) == damaged);
  EXPECT_FALSE(std::filesystem::exists(absl::StrCat(StoreIn(copy), ".recovering")));
  EXPECT_THAT(FindingsOf(copy), IsEmpty());
  const Served served = Serve(copy);
  EXPECT_TRUE(served.open.ok()) << served.open;
  EXPECT_EQ(served.wrong + served.errors, 0u);
  EXPECT_EQ(served.tail_missing, 3u);  // the last batch
}

// RocksDB by itself would open this store without its last batch.
TEST_F(Recover, TakesALengthThatGoesBeyondTheLogForDamage) {
  const std::string copy = NewCopy();
  for (auto [path, content] : FilesIn(StoreIn(copy))) {
    if (!path.ends_with(".log") || content.empty()) continue;
    const std::string log = absl::StrCat(StoreIn(copy), "/", path);
    size_t last = 0;
    ASSERT_TRUE(
        embedded::ScanLog(log, [&](std::string_view record) { last = record.size(); }).ok());
    const size_t length = content.size() - last - 2;  // its high byte; the type is behind it
    content[length] = static_cast<char>(content[length] ^ 64);
    WriteTo(log, content);
  }
  const Served damaged = Serve(copy);
  EXPECT_TRUE(absl::IsDataLoss(damaged.open)) << damaged.open;
  ASSERT_TRUE(RecoverIn(copy).ok());
  const Served served = Serve(copy);
  EXPECT_TRUE(served.open.ok()) << served.open;
  EXPECT_EQ(served.tail_missing, 3u);
}

TEST_F(Recover, RefusesToLoseWhatWasSigned) {
  const std::string copy = FlippedLog(0, /*from_begin=*/100);
  const auto before = FilesIn(copy);
  const absl::Status refused = RecoverIn(copy).status();
  EXPECT_TRUE(IsError(refused, absl::StatusCode::kDataLoss, "STORE_WENT_BACK",
                      absl::StrCat("says ", truth().signed_size.at(""))))
      << refused;
  EXPECT_TRUE(FilesIn(copy) == before);
}

TEST_F(Recover, NeedsACheckpointFromOutside) {
  const std::string copy = FlippedLog(20);
  for (const char* suffix : {"", ".previous"}) {
    std::filesystem::remove(absl::StrCat(CheckpointIn(copy), suffix));
  }
  const auto before = FilesIn(copy);
  EXPECT_TRUE(IsError(RecoverIn(copy).status(), absl::StatusCode::kFailedPrecondition,
                      "NO_CHECKPOINT", "--checkpoint"));
  WriteTo(CheckpointIn(copy), "that of another store\n");
  EXPECT_TRUE(IsError(RecoverIn(copy).status(), absl::StatusCode::kDataLoss, "STORE_WENT_BACK",
                      "no copy of the checkpoint in it verifies"));
  std::filesystem::remove(CheckpointIn(copy));
  EXPECT_TRUE(FilesIn(copy) == before);
  WriteTo(CheckpointIn(copy), truth().note.at(""));
  EXPECT_TRUE(RecoverIn(copy).ok());
}

TEST_F(Recover, LeavesAloneWhatOpens) {
  const std::string copy = NewCopy();
  const auto before = FilesIn(copy);
  EXPECT_TRUE(IsError(RecoverIn(copy).status(), absl::StatusCode::kFailedPrecondition,
                      "NOTHING_TO_RECOVER", "nothing to recover"));
  EXPECT_TRUE(FilesIn(copy) == before);
}

TEST_F(Recover, LeavesAloneWhatIsInUseOrBeingRecovered) {
  const std::string copy = NewCopy();
  {
    const auto store = OpenEmbeddedStore({.folder = StoreIn(copy)});
    ASSERT_TRUE(store.ok());
    EXPECT_TRUE(IsError(RecoverIn(copy).status(), absl::StatusCode::kFailedPrecondition,
                        "STORE_IN_USE", "stop it"));
  }
  const std::string other = FlippedLog(20);
  std::filesystem::create_directory(absl::StrCat(StoreIn(other), ".recovering"));
  EXPECT_TRUE(IsError(RecoverIn(other).status(), absl::StatusCode::kFailedPrecondition,
                      "RECOVERY_EXISTS", "remove it if none is running"));
  EXPECT_TRUE(std::filesystem::exists(absl::StrCat(StoreIn(other), ".recovering")));
}

TEST_F(Recover, RefusesATableThatIsDamagedToo) {
  const std::string copy = FlippedLog(20);
  for (auto [path, content] : FilesIn(StoreIn(copy))) {
    if (!path.ends_with(".sst")) continue;
    content[100] = static_cast<char>(content[100] ^ 1);
    WriteTo(absl::StrCat(StoreIn(copy), "/", path), content);
  }
  const auto before = FilesIn(copy);
  EXPECT_TRUE(absl::IsDataLoss(RecoverIn(copy).status())) << RecoverIn(copy).status();
  EXPECT_TRUE(FilesIn(copy) == before);
}

}  // namespace
}  // namespace dpledger
