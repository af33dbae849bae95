// Fsck and recover on a store that is whole, and on one damaged in ways that are known.
#include "ledger_store/evidence/fsck.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/file.h"
#include "ledger_store/embedded/embedded_store.h"
#include "ledger_store/embedded/folder.h"
#include "ledger_store/embedded/keys.h"
#include "ledger_store/embedded/log_scan.h"
#include "ledger_store/embedded/recovery.h"
#include "ledger_store/embedded/rocksdb_options.h"
#include "ledger_store/evidence/registry.h"
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
  EXPECT_THAT(
      FindingsOf(Removed(BatchKey(0, 1))),
      Contains(absl::StrCat(kLedger, ": entries 1 to 700: ", kLedger, ": entry 1 is missing")));
}

TEST_F(Fsck, NamesAShortBatch) {
  const std::string copy =
      Tampered(BatchKey(0, 1), [](std::string& value) { value.resize(value.size() / 2); });
  EXPECT_THAT(FindingsOf(copy), Contains(HasSubstr(": the batch of entry 1 is cut short")));
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
  EXPECT_THAT(findings,
              Contains("the registry: tile of level 0 and index 0: the registry: has no tile of "
                       "level 0 and index 0"));
}

TEST_F(Fsck, NamesPlacesOfRegistrationsThatAreOthers) {
  const std::string key = embedded::TileKey(0, RegistrationsTile(0));
  EXPECT_THAT(FindingsOf(Tampered(key, kFlipLast)),
              ElementsAre(absl::StrCat(kLedger,
                                       ": registrations: are not where the registry has "
                                       "them")));
  EXPECT_THAT(FindingsOf(Removed(key)),
              ElementsAre(HasSubstr("the place of its registration 0 in the registry is missing")));
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
              Contains(HasSubstr("projects/p/ledgers/b: its head counts 601 entries, its writers "
                                 "602")));
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
  EXPECT_THAT(FindingsOf(Removed(embedded::NameKey(kLedger))),
              ElementsAre("the database: no ledger has id 0, but later ones do"));
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
  EXPECT_THAT(findings, Contains(HasSubstr("the registry: entry 2 is missing")));
}

// Whoever can check run-length tables is asked about each ledger.
TEST_F(Fsck, NamesADamagedRunLengthTable) {
  FsckReport report;
  std::vector<std::string> asked;
  FsckOptions options;
  options.check_history = [&](LedgerReader& store, const std::string& ledger) {
    asked.push_back(ledger);
    const absl::Status read = store.GetHistory(ledger).status();
    return absl::IsNotFound(read) ? absl::OkStatus() : read;
  };
  const std::string copy = Tampered(embedded::HistoryKey(1), kFlipLast);
  ASSERT_TRUE(embedded::FsckFolder(StoreIn(copy), options, report).ok());
  EXPECT_EQ(asked.size(), truth().entries.size() - 1);
  EXPECT_THAT(Texts(report), ElementsAre("projects/p/ledgers/b: run-length table: "
                                         "projects/p/ledgers/b: its run-length table is damaged"));
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

class Recover : public Fsck {
 protected:
  // The log with records, and where the last of them begins that `is_it` takes.
  struct InLog {
    std::string path;
    size_t offset = 0;
  };
  static InLog Find(const std::string& copy, const std::function<bool(std::string_view)>& is_it) {
    InLog found;
    for (const auto& [path, content] : FilesIn(StoreIn(copy))) {
      if (!path.ends_with(".log") || content.empty()) continue;
      found.path = absl::StrCat(StoreIn(copy), "/", path);
      const auto look = [&](std::string_view record) {
        // One that lies in two blocks is not found.
        const size_t offset = content.find(record);
        if (is_it(record) && offset != std::string::npos) found.offset = offset;
      };
      EXPECT_TRUE(embedded::ScanLog(found.path, look).ok());
    }
    EXPECT_GT(found.offset, 0u);
    return found;
  }
  static void Flip(const InLog& place, char bits = 16) {
    std::string content = *ReadFile(place.path);
    content[place.offset] = static_cast<char>(content[place.offset] ^ bits);
    WriteTo(place.path, content);
  }
  static bool IsAny(std::string_view) { return true; }
  // Puts the store that was saved in the place of the damaged one.
  static Served ServeSaved(const std::string& copy) {
    std::filesystem::remove_all(StoreIn(copy));
    std::filesystem::rename(copy + ".saved/store", StoreIn(copy));
    return Serve(copy);
  }
  static uint64_t SignedEntries() {
    uint64_t count = 0;
    for (const auto& [log, size] : truth().signed_size) count += log.empty() ? 0 : size;
    return count;
  }
};

TEST_F(Recover, SavesAWholeStoreAndChangesNothing) {
  const std::string copy = NewCopy();
  const auto before = FilesIn(copy);
  const Saved saved = Recovered(copy);
  ASSERT_TRUE(saved.recovered.ok()) << saved.recovered.status();
  EXPECT_TRUE(FilesIn(copy) == before);
  EXPECT_THAT(Texts(saved.recovered->report), IsEmpty());
  EXPECT_EQ(saved.missing, 0u);
  EXPECT_EQ(saved.recovered->bundles, truth().entries.size() - 1);
  EXPECT_EQ(saved.recovered->bundled, SignedEntries());
  EXPECT_EQ(saved.recovered->others, TrueEntries() - SignedEntries());
  EXPECT_FALSE(std::filesystem::exists(copy + ".saved/copy"));
  ASSERT_TRUE(saved.recovered->has_store);
  EXPECT_EQ(ServeSaved(copy).tail_missing, 0u);
}

// As a power cut leaves a log on a disk that does not keep the order of writes.
TEST_F(Recover, KeepsAStoreThatLacksOnlyWhatWasNotSigned) {
  const std::string copy = NewCopy();
  Flip(Find(copy, IsAny));
  EXPECT_TRUE(absl::IsDataLoss(Serve(copy).open));
  const Saved saved = Recovered(copy);
  ASSERT_TRUE(saved.recovered.ok() && saved.recovered->has_store) << saved.recovered.status();
  EXPECT_EQ(saved.missing, 3u);  // the last batch
  EXPECT_EQ(saved.signed_count, SignedEntries());
  const Served served = ServeSaved(copy);
  EXPECT_TRUE(served.open.ok()) << served.open;
  EXPECT_EQ(served.wrong + served.errors, 0u);
  EXPECT_EQ(served.tail_missing, 3u);
  EXPECT_THAT(FindingsOf(copy), IsEmpty());
}

// RocksDB by itself would open this store without its last batch.
TEST_F(Recover, TakesALengthThatGoesBeyondTheLogForDamage) {
  const std::string copy = NewCopy();
  InLog length = Find(copy, IsAny);
  length.offset -= 2;  // its high byte; the type is behind it
  Flip(length, 64);
  EXPECT_TRUE(absl::IsDataLoss(Serve(copy).open));
  ASSERT_TRUE(Recovered(copy).recovered->has_store);
  EXPECT_EQ(ServeSaved(copy).tail_missing, 3u);
}

TEST_F(Recover, KeepsNoStoreThatLacksWhatWasSigned) {
  const std::string copy = NewCopy();
  const std::string of_batch = truth().entries.at(kLedger)[707];
  Flip(Find(copy, [&](std::string_view record) { return record.find(of_batch) != record.npos; }));
  const Saved saved = Recovered(copy);
  ASSERT_TRUE(saved.recovered.ok()) << saved.recovered.status();
  EXPECT_FALSE(saved.recovered->has_store);
  EXPECT_THAT(saved.recovered->report.notes(), Contains(HasSubstr("no store was kept: ")));
  EXPECT_THAT(Texts(saved.recovered->report),
              Contains(absl::StrCat(kLedger, ": entries 707 to 711: cannot be read")));
  // What is behind the damage is saved too, in its own ledger as lines.
  EXPECT_EQ(saved.missing, 5u);
  EXPECT_EQ(saved.signed_count, SignedEntries() - 5);
  EXPECT_EQ(saved.bundles.at(kLedger), 702u);  // before the damage
  EXPECT_EQ(saved.bundles.at("projects/p/ledgers/child"),
            truth().signed_size.at("projects/p/ledgers/child"));
}

// The registry has a hole there, and shows nothing behind it.
TEST_F(Recover, ShowsWhatWasSignedBeforeADamagedPublication) {
  const std::string copy = NewCopy();
  const std::string key = embedded::CheckpointKey(embedded::kRegistryId);
  std::vector<std::string> publications;
  Find(copy, [&](std::string_view record) {
    if (record.find(key) != record.npos) publications.emplace_back(record);
    return true;
  });
  ASSERT_EQ(publications.size(), 4u);  // of 50 entries of kLedger each
  Flip(Find(copy, [&](std::string_view record) { return record == publications[2]; }));
  const Saved saved = Recovered(copy);
  ASSERT_TRUE(saved.recovered.ok()) << saved.recovered.status();
  EXPECT_THAT(Texts(saved.recovered->report), Contains(HasSubstr("the registry: has ")));
  EXPECT_EQ(saved.missing, 0u);
  EXPECT_EQ(saved.bundles.size(), truth().entries.size() - 1);
  EXPECT_EQ(saved.bundles.at(kLedger), truth().signed_size.at(kLedger) - 2 * 50);
}

TEST_F(Recover, ShowsLinesAsSignedWhereALedgerHasAHole) {
  const std::string copy = Removed(BatchKey(0, 1));
  const Saved saved = Recovered(copy);
  EXPECT_EQ(saved.missing, 700u);
  EXPECT_EQ(saved.signed_count, SignedEntries() - 700);
  EXPECT_EQ(saved.bundles.size(), truth().entries.size() - 2);
  EXPECT_THAT(Texts(saved.recovered->report),
              Contains(absl::StrCat(kLedger, ": entries 1 to 700: cannot be read")));
  // Not without their tile: entries 701 to 767 are under that one.
  const Saved untiled = Recovered(Tampered([](Records& records) {
    records.erase(BatchKey(0, 1));
    records.erase(embedded::TileKey(0, {0, 2}));
  }));
  EXPECT_EQ(untiled.missing, 700u);
  EXPECT_EQ(untiled.signed_count, SignedEntries() - 700 - 67);
}

TEST_F(Recover, ShowsNoChangedEntryAsSigned) {
  const std::string copy = Tampered([](Records& records) {
    records.erase(BatchKey(0, 1));
    kFlipLast(records.at(BatchKey(0, 702)));
  });
  const std::string to = copy + ".saved";
  ASSERT_TRUE(embedded::Recover({.folder = StoreIn(copy), .to = to, .fsck = {}}).ok());
  std::vector<std::string> lines = absl::StrSplit(*ReadFile(to + "/entries.jsonl"), '\n');
  std::erase_if(lines, [](const std::string& line) {
    return line.find("/a\",") == line.npos || line.find("\"signed\":true") == line.npos;
  });
  EXPECT_EQ(lines.size(), truth().signed_size.at(kLedger) - 700 - 1);
}

// Names are those of the checkpoints.
TEST_F(Recover, NeedsNeitherNamesNorHeadsNorTiles) {
  const std::string copy = Tampered([](Records& records) {
    std::erase_if(records, [](const auto& record) {
      return std::string_view("nht").find(record.first[0]) != std::string_view::npos;
    });
  });
  const Saved saved = Recovered(copy);
  EXPECT_EQ(saved.missing, 0u);
  EXPECT_EQ(saved.signed_count, SignedEntries());
  EXPECT_EQ(saved.bundles.size(), truth().entries.size() - 1);
  const Saved unnamed = Recovered(Removed(embedded::CheckpointKey(0)));
  EXPECT_EQ(unnamed.missing, 0u);
  EXPECT_EQ(unnamed.bundles.count(kLedger), 0u);
}

TEST_F(Recover, RepairsWhatDoesNotOpen) {
  for (const char* lost : {"CURRENT", "MANIFEST-"}) {
    const std::string copy = NewCopy();
    for (const auto& [path, content] : FilesIn(StoreIn(copy))) {
      if (path.starts_with(lost)) std::filesystem::remove(absl::StrCat(StoreIn(copy), "/", path));
    }
    const Saved saved = Recovered(copy);
    ASSERT_TRUE(saved.recovered.ok()) << saved.recovered.status();
    EXPECT_EQ(saved.missing, 0u) << lost;
    EXPECT_EQ(saved.signed_count, SignedEntries()) << lost;
    EXPECT_THAT(Texts(saved.recovered->report), Contains(HasSubstr("does not open"))) << lost;
  }
}

// A compaction writes old rows into a table with a new number.
TEST_F(Recover, TakesTheLargestCheckpointsWhateverTheTablesAreCalled) {
  const auto saved_of = [&](bool renamed) {
    const std::string copy = NewCopy();
    std::string oldest;
    for (const auto& [path, content] : FilesIn(StoreIn(copy))) {
      const std::string file = absl::StrCat(StoreIn(copy), "/", path);
      if (path.ends_with(".log")) std::filesystem::remove(file);
      if (path.ends_with(".sst") && oldest.empty()) oldest = file;
    }
    if (renamed) std::filesystem::rename(oldest, StoreIn(copy) + "/900000.sst");
    return Recovered(copy).bundles;
  };
  const auto bundles = saved_of(/*renamed=*/false);
  EXPECT_EQ(bundles.size(), truth().entries.size() - 1);
  EXPECT_EQ(saved_of(/*renamed=*/true), bundles);
}

TEST_F(Recover, ReadsPastDamagedBlocks) {
  const std::string copy = NewCopy();
  for (auto [path, content] : FilesIn(StoreIn(copy))) {
    if (!path.ends_with(".sst")) continue;
    for (size_t place : {13'000, 20'000}) {
      content[place] = static_cast<char>(content[place] ^ 1);
    }
    WriteTo(absl::StrCat(StoreIn(copy), "/", path), content);
  }
  const Saved saved = Recovered(copy);
  ASSERT_TRUE(saved.recovered.ok()) << saved.recovered.status();
  EXPECT_GT(saved.missing, 0u);
  EXPECT_LT(saved.missing, 150u);
  EXPECT_FALSE(saved.recovered->report.clean());
}

TEST_F(Recover, NeedsTheSecondPlaceToKeepAStore) {
  const std::string copy = NewCopy();
  for (const char* suffix : {"", ".previous"}) {
    std::filesystem::remove(absl::StrCat(CheckpointIn(copy), suffix));
  }
  const Saved saved = Recovered(copy);
  EXPECT_FALSE(saved.recovered->has_store);
  EXPECT_THAT(saved.recovered->report.notes(), Contains(HasSubstr("--checkpoint-copy")));
  EXPECT_FALSE(std::filesystem::exists(copy + ".saved/store"));
  EXPECT_EQ(saved.signed_count, SignedEntries());
}

TEST_F(Recover, RefusesWhatIsInUseOrThereAlready) {
  const std::string copy = NewCopy();
  const auto recover = [&](const std::string& to) {
    return embedded::Recover({.folder = StoreIn(copy), .to = to, .fsck = {}}).status();
  };
  EXPECT_TRUE(IsError(recover(copy), absl::StatusCode::kAlreadyExists, "", "is there already"));
  const auto store = OpenEmbeddedStore({.folder = StoreIn(copy)});
  ASSERT_TRUE(store.ok());
  EXPECT_TRUE(IsError(recover(copy + ".saved"), absl::StatusCode::kFailedPrecondition,
                      "STORE_IN_USE", "stop it"));
  EXPECT_FALSE(std::filesystem::exists(copy + ".saved"));
}

}  // namespace
}  // namespace dpledger
