// What the embedded engine does beyond the suite of all engines: groups, its queue, its folder,
// damage.
#include "ledger_store/embedded/embedded_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/blocking_counter.h"
#include "base/file.h"
#include "ledger_store/embedded/keys.h"
#include "ledger_store/embedded/log_scan.h"
#include "ledger_store/embedded/rocksdb_options.h"
#include "ledger_store/embedded/synced_record.h"
#include "rocksdb/db.h"
#include "tests/ledger_store/requests.h"
#include "tests/ledger_store/temp_folder.h"

namespace dpledger {
namespace {

using absl::StatusCode;

class EmbeddedStore : public ::testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<LedgerStore>> Open() {
    EmbeddedOptions options;
    options.folder = folder_.path();
    options.clock = &clock_;
    options.max_pending_bytes = max_pending_bytes_;
    return OpenEmbeddedStore(options);
  }

  // A store with a ledger of three entries, closed again.
  void MakeLedger() {
    auto store = Open();
    ASSERT_TRUE(store.ok()) << store.status();
    ASSERT_TRUE((*store)->Create(CreateRequest(kLedger)).ok());
    ASSERT_TRUE((*store)->Append(RoundBatch(kLedger, "w", "r1", 1)).ok());
  }

  // Changes the closed store behind its back.
  void Tamper(const std::function<rocksdb::Status(rocksdb::DB&)>& change) {
    rocksdb::DB* opened = nullptr;
    ASSERT_TRUE(
        rocksdb::DB::Open(embedded::DatabaseOptions(nullptr), folder_.path(), &opened).ok());
    const std::unique_ptr<rocksdb::DB> db(opened);
    ASSERT_TRUE(change(*db).ok());
  }

  TempFolder folder_;
  TestClock clock_;
  size_t max_pending_bytes_ = 64 << 20;
};

// Appends many batches so that all but the first are committed as one group; returns the answers.
std::vector<absl::StatusOr<v1::Receipt>> AppendAsGroup(
    LedgerStore& store, TestClock& clock, const std::vector<v1::AppendBatchRequest>& requests) {
  std::vector<absl::StatusOr<v1::Receipt>> answers(requests.size());
  absl::BlockingCounter open(static_cast<int>(requests.size()));
  clock.Hold();
  for (size_t i = 0; i < requests.size(); ++i) {
    store.AppendAsync(requests[i], [&, i](absl::StatusOr<v1::Receipt> answer) {
      answers[i] = std::move(answer);
      open.DecrementCount();
    });
    if (i == 0) clock.AwaitAsked();
  }
  clock.Release();
  open.Wait();
  return answers;
}

TEST_F(EmbeddedStore, RequestsOfOneGroupSeeEachOther) {
  MakeLedger();
  const auto store = Open().value();
  v1::AppendBatchRequest expecting = RoundBatch(kLedger, "w", "r4", 4);
  expecting.set_expected_sequence(7);
  const auto answers = AppendAsGroup(
      *store, clock_,
      {RoundBatch(kLedger, "w", "r2", 2), RoundBatch(kLedger, "w", "r3", 3), expecting,
       RoundBatch(kLedger, "w", "r5", 3), RoundBatch(kLedger, "w", "r3", 3),
       RoundBatch(kLedger, "w", "r3", 5), RoundBatch("projects/p/ledgers/none", "w", "r", 1)});
  ASSERT_TRUE(answers[0].ok() && answers[1].ok() && answers[2].ok());
  EXPECT_EQ(answers[1]->first_sequence(), 5u);
  EXPECT_EQ(answers[2]->first_sequence(), 7u);
  EXPECT_TRUE(IsError(answers[3].status(), StatusCode::kFailedPrecondition, "ROUND_GOES_BACK",
                      "must be at least 4"));
  ASSERT_TRUE(answers[4].ok()) << answers[4].status();
  EXPECT_EQ(answers[4]->SerializeAsString(), answers[1]->SerializeAsString());
  EXPECT_TRUE(IsError(answers[5].status(), StatusCode::kInvalidArgument, "REQUEST_ID_REUSED", "r"));
  EXPECT_TRUE(IsError(answers[6].status(), StatusCode::kNotFound, "LEDGER_NOT_FOUND", "none"));
  EXPECT_EQ(store->Get(kLedger)->size(), 9u);
}

TEST_F(EmbeddedStore, WritersOfOneGroupAreAllStored) {
  MakeLedger();
  v1::Ledger before;
  {
    const auto store = Open().value();
    const auto answers =
        AppendAsGroup(*store, clock_,
                      {RoundBatch(kLedger, "w", "r2", 2), RoundBatch(kLedger, "u", "u1", 1),
                       RoundBatch(kLedger, "v", "v1", 1), RoundBatch(kLedger, "w", "r3", 3)});
    for (const auto& answer : answers) ASSERT_TRUE(answer.ok()) << answer.status();
    before = store->Get(kLedger).value();
  }
  EXPECT_EQ(Open().value()->Get(kLedger)->SerializeAsString(), before.SerializeAsString());
}

TEST_F(EmbeddedStore, FullQueueRefusesAtOnce) {
  MakeLedger();
  max_pending_bytes_ = 4000;
  const auto store = Open().value();
  std::vector<v1::AppendBatchRequest> requests;
  for (int i = 0; i < 4; ++i) {
    requests.push_back(Batch(kLedger, "w", absl::StrCat("n", i)));
    AddNote(requests.back(), std::string(600, 'x'));
  }
  const auto answers = AppendAsGroup(*store, clock_, requests);
  EXPECT_TRUE(answers[0].ok() && answers[1].ok());
  EXPECT_TRUE(IsError(answers[2].status(), StatusCode::kResourceExhausted, "QUEUE_FULL",
                      "the store's queue is full"));
  EXPECT_TRUE(IsError(answers[3].status(), StatusCode::kResourceExhausted, "QUEUE_FULL", "4000"));
  EXPECT_TRUE(store->Healthy());
  EXPECT_TRUE(store->Append(requests[3]).ok());  // the queue is empty again
}

TEST_F(EmbeddedStore, AnsweredRequestsCountNoMore) {
  MakeLedger();
  max_pending_bytes_ = 3000;
  const auto store = Open().value();
  const auto batch = [](const std::string& id) {
    v1::AppendBatchRequest request = Batch(kLedger, "w", id);
    AddNote(request, std::string(1000, 'x'));  // room for one, not for two
    return request;
  };
  const auto together = AppendAsGroup(*store, clock_, {batch("a"), batch("b")});
  EXPECT_EQ(together[1].status().code(), StatusCode::kResourceExhausted);  // the control
  absl::BlockingCounter open(1);
  absl::StatusOr<v1::Receipt> second;
  store->AppendAsync(batch("c"), [&](const absl::StatusOr<v1::Receipt>& first) {
    EXPECT_TRUE(first.ok()) << first.status();
    store->AppendAsync(batch("d"), [&](absl::StatusOr<v1::Receipt> answer) {
      second = std::move(answer);
      open.DecrementCount();
    });
  });
  open.Wait();
  EXPECT_TRUE(second.ok()) << second.status();
}

TEST_F(EmbeddedStore, RefusedRequestsTakeNoRoom) {
  MakeLedger();
  max_pending_bytes_ = 4000;
  const auto store = Open().value();
  const auto batch = [](const std::string& id, int notes) {
    v1::AppendBatchRequest request = Batch(kLedger, "w", id);
    for (int i = 0; i < notes; ++i) AddNote(request, std::string(600, 'x'));
    return request;
  };
  const auto answers = AppendAsGroup(*store, clock_, {batch("a", 1), batch("b", 4), batch("c", 1)});
  EXPECT_TRUE(answers[0].ok()) << answers[0].status();
  EXPECT_EQ(answers[1].status().code(), StatusCode::kResourceExhausted);
  EXPECT_TRUE(answers[2].ok()) << answers[2].status();
}

TEST_F(EmbeddedStore, DestructorAnswersWhatIsAskedInAnAnswer) {
  MakeLedger();
  uint64_t stored = 0;
  auto store = Open().value();
  LedgerStore* const asked = store.get();
  std::function<void(uint64_t)> append = [&](uint64_t round) {
    if (round == 30) return;
    asked->AppendAsync(RoundBatch(kLedger, "w", absl::StrCat("r", round), round),
                       [&, round](const absl::StatusOr<v1::Receipt>& answer) {
                         stored += answer.ok();
                         append(round + 1);
                       });
  };
  append(2);
  store.reset();
  EXPECT_EQ(stored, 28u);
}

TEST_F(EmbeddedStore, DestructorAnswersWhatWaits) {
  MakeLedger();
  int stored = 0;
  {
    const auto store = Open().value();
    for (uint64_t round = 2; round < 50; ++round) {
      store->AppendAsync(RoundBatch(kLedger, "w", absl::StrCat("r", round), round),
                         [&](const absl::StatusOr<v1::Receipt>& answer) { stored += answer.ok(); });
    }
  }
  EXPECT_EQ(stored, 48);
  EXPECT_EQ(Open().value()->Get(kLedger)->size(), 99u);
}

TEST_F(EmbeddedStore, FolderServesOneServer) {
  const auto store = Open().value();
  EXPECT_TRUE(IsError(Open().status(), StatusCode::kFailedPrecondition, "STORE_IN_USE",
                      folder_.path() + ": another server has this store open"));
}

TEST_F(EmbeddedStore, OtherFormatIsRefused) {
  MakeLedger();
  const auto refused = [&](const char* version, const char* message) {
    Tamper([&](rocksdb::DB& db) { return db.Put({}, embedded::VersionKey(), version); });
    return IsError(Open().status(), StatusCode::kFailedPrecondition, "", message);
  };
  EXPECT_TRUE(refused("0", "holds a store of format 0, this program reads format 1"));
  EXPECT_TRUE(refused("x", "holds a store of format 78 (hexadecimal), this program reads"));
  EXPECT_TRUE(refused("2",
                      "holds a store of format 2, written by a newer version of this program, "
                      "which reads format 1"));
  EXPECT_TRUE(refused("10", "written by a newer version"));
  Tamper([](rocksdb::DB& db) { return db.Delete({}, embedded::VersionKey()); });
  EXPECT_TRUE(IsError(Open().status(), StatusCode::kDataLoss, "", "format version is missing"));
}

TEST_F(EmbeddedStore, FolderThatCannotBeMadeIsRefused) {
  EmbeddedOptions options;
  options.folder = "/proc/none/store";
  EXPECT_TRUE(IsError(OpenEmbeddedStore(options).status(), StatusCode::kNotFound, "",
                      "create /proc/none/store"));
}

TEST_F(EmbeddedStore, UntouchedStoreOpens) {  // the control of the damages below
  MakeLedger();
  Tamper([](rocksdb::DB&) { return rocksdb::Status::OK(); });
  EXPECT_TRUE(Open().ok());
}

struct Damage {
  const char* name;
  rocksdb::Status (*change)(rocksdb::DB&);
  const char* message;
};

class DamagedStore : public EmbeddedStore, public ::testing::WithParamInterface<Damage> {};

TEST_P(DamagedStore, IsRefusedAtOpening) {
  MakeLedger();
  Tamper(GetParam().change);
  EXPECT_TRUE(IsError(Open().status(), StatusCode::kDataLoss, "", GetParam().message));
}

// Overwrites the batch that begins at `first`.
template <uint64_t first>
rocksdb::Status CutBatch(rocksdb::DB& db) {
  std::string row;
  const rocksdb::Status read = db.Get({}, embedded::BatchKey(0, first), &row);
  if (!read.ok()) return read;
  row.pop_back();
  return db.Put({}, embedded::BatchKey(0, first), row);
}

const std::string kOneEntry("\0\1x", 3);

const Damage kDamages[] = {
    {"LastBatchMissing", [](rocksdb::DB& db) { return db.Delete({}, embedded::BatchKey(0, 1)); },
     "projects/p/ledgers/a: has size 3, but entry 2 is missing"},
    {"LastBatchShorter",
     [](rocksdb::DB& db) { return db.Put({}, embedded::BatchKey(0, 1), kOneEntry); },
     "projects/p/ledgers/a: has size 3, but entry 2 is missing"},
    {"LastBatchCutShort", &CutBatch<1>, "projects/p/ledgers/a: its last batch does not parse"},
    {"LastBatchEmpty", [](rocksdb::DB& db) { return db.Put({}, embedded::BatchKey(0, 1), ""); },
     "projects/p/ledgers/a: its last batch does not parse"},
    {"BatchBeyondTheEnd",
     [](rocksdb::DB& db) { return db.Put({}, embedded::BatchKey(0, 3), kOneEntry); },
     "projects/p/ledgers/a: has entries beyond its size 3"},
    {"DeclarationMissing", [](rocksdb::DB& db) { return db.Delete({}, embedded::BatchKey(0, 0)); },
     "projects/p/ledgers/a: its entry 0 is missing"},
    {"DeclarationCutShort", &CutBatch<0>, "projects/p/ledgers/a: its entry 0 does not parse"},
    {"HeadsMissing",
     [](rocksdb::DB& db) {
       const rocksdb::Status deleted = db.Delete({}, embedded::HeadKey(0, ""));
       return deleted.ok() ? db.Delete({}, embedded::HeadKey(0, "w")) : deleted;
     },
     "projects/p/ledgers/a: its head is missing"},
    {"LastHeadMissing", [](rocksdb::DB& db) { return db.Delete({}, embedded::HeadKey(0, "w")); },
     "projects/p/ledgers/a: has entries beyond its size 1"},
    {"OlderHeadMissing", [](rocksdb::DB& db) { return db.Delete({}, embedded::HeadKey(0, "")); },
     "its head counts 3 entries, its writers 2"},
    {"HeadIsRubbish",
     [](rocksdb::DB& db) { return db.Put({}, embedded::HeadKey(0, "w"), "\xff\xff"); },
     "projects/p/ledgers/a: the head that writer \"w\" left does not fit"},
    {"HeadOfAnotherWriter",
     [](rocksdb::DB& db) {
       std::string row;
       const rocksdb::Status read = db.Get({}, embedded::HeadKey(0, "w"), &row);
       return read.ok() ? db.Put({}, embedded::HeadKey(0, "v"), row) : read;
     },
     "projects/p/ledgers/a: the head that writer \"v\" left does not fit"},
    {"NameMissing", [](rocksdb::DB& db) { return db.Delete({}, embedded::NameKey(kLedger)); },
     "a ledger has lost its name"},
    {"TileOfNoLedger",
     [](rocksdb::DB& db) {
       return db.Put({}, embedded::TileKey(1, {0, 0}), "x");
     },
     "a ledger has lost its name"},
    {"IdMissing",
     [](rocksdb::DB& db) {
       return db.Put({}, embedded::NameKey(kLedger), embedded::EncodeNumber(1));
     },
     "is missing"},
};

INSTANTIATE_TEST_SUITE_P(Embedded, DamagedStore, ::testing::ValuesIn(kDamages),
                         [](const auto& damage) { return damage.param.name; });

// RocksDB's log of a closed store with 50 batches: nothing has been moved to sorted files yet.
class LogOfAStore : public EmbeddedStore {
 protected:
  void SetUp() override {
    MakeLedger();
    {
      const auto store = Open().value();
      for (uint64_t round = 2; round <= 50; ++round) {
        const std::string id = absl::StrCat("r", round);
        if (round == 50) record_before_last_ = Record();
        ASSERT_TRUE(store->Append(RoundBatch(kLedger, "w", id, round)).ok());
      }
    }
    uintmax_t largest = 0;
    for (const auto& file : std::filesystem::directory_iterator(folder_.path())) {
      if (file.path().extension() != ".log" || file.file_size() < largest) continue;
      largest = file.file_size();
      log_ = file.path().string();
    }
    ASSERT_GT(largest, 5000u);
  }

  std::string NewestLog() const {
    std::string newest;
    for (const auto& file : std::filesystem::directory_iterator(folder_.path())) {
      if (file.path().extension() == ".log") newest = std::max(newest, file.path().string());
    }
    return newest;
  }
  std::string RecordPath() const {
    return absl::StrCat(folder_.path(), "/", embedded::kSyncedRecordFile);
  }
  std::string Record() const { return *ReadFile(RecordPath()); }

  std::string log_;
  std::string record_before_last_;  // of what was synced, before the last batch
};

TEST_F(LogOfAStore, FlippedBitIsRefusedAtOpening) {
  {
    std::fstream log(log_, std::ios::in | std::ios::out | std::ios::binary);
    log.seekg(3000);
    const char byte = static_cast<char>(log.get() ^ 1);
    log.seekp(3000);
    log.put(byte);
  }
  EXPECT_TRUE(IsError(Open().status(), StatusCode::kDataLoss, "", "open the store in"));
}

// RocksDB takes a length that goes beyond the file for a write that a power cut interrupted, and
// would drop the last batch, which was acknowledged, without a word.
TEST_F(LogOfAStore, FlippedBitInTheLastHeaderIsRefusedAtOpening) {
  size_t last_bytes = 0;
  const auto scan =
      embedded::ScanLog(log_, [&](std::string_view record) { last_bytes = record.size(); });
  ASSERT_TRUE(scan.ok()) << scan.status();
  constexpr size_t kHeaderBytes = 7;
  const size_t header = scan->file_bytes - last_bytes - kHeaderBytes;
  const auto flip = [&](size_t bit) {
    std::fstream log(log_, std::ios::in | std::ios::out | std::ios::binary);
    const auto at = static_cast<std::streamoff>(header + bit / 8);
    log.seekg(at);
    const char byte = static_cast<char>(log.get() ^ (1 << bit % 8));
    log.seekp(at);
    log.put(byte);
  };
  for (size_t bit = 0; bit < 8 * kHeaderBytes; ++bit) {
    flip(bit);
    const absl::Status refused = Open().status();
    ASSERT_EQ(refused.code(), StatusCode::kDataLoss) << "bit " << bit << ": " << refused;
    flip(bit);
  }
  EXPECT_EQ(Open().value()->Get(kLedger)->size(), 101u);  // the control
}

// As a power cut leaves it: the batch was never acknowledged, and there must be nothing to repair
// by hand.
TEST_F(LogOfAStore, TornTailIsCutOff) {
  std::filesystem::resize_file(log_, std::filesystem::file_size(log_) - 37);
  // The control: had the batch been synced, so that it may have been acknowledged.
  EXPECT_TRUE(IsError(Open().status(), StatusCode::kDataLoss, "STORE_WENT_BACK",
                      "the end of the log is missing"));
  ASSERT_TRUE(WriteFileDurably(RecordPath(), record_before_last_).ok());
  const auto store = Open();
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_EQ((*store)->Get(kLedger)->size(), 99u);
  EXPECT_TRUE((*store)->Append(RoundBatch(kLedger, "w", "r50", 50)).ok());
  EXPECT_EQ((*store)->Get(kLedger)->size(), 101u);
}

// RocksDB keeps a log of which it could replay nothing: it is still there when a later log has
// records, and must not look damaged then.
TEST_F(LogOfAStore, TornFirstRecordIsCutOff) {
  const std::string torn = ReadFile(log_)->substr(0, 20);
  ASSERT_TRUE(Open().ok());
  const std::string empty = NewestLog();
  ASSERT_EQ(std::filesystem::file_size(empty), 0u);
  ASSERT_TRUE(WriteFileDurably(empty, torn).ok());
  for (uint64_t round = 51; round <= 53; ++round) {
    const auto store = Open();
    ASSERT_TRUE(store.ok()) << store.status();
    EXPECT_TRUE((*store)->Append(RoundBatch(kLedger, "w", absl::StrCat("r", round), round)).ok());
  }
  EXPECT_EQ(Open().value()->Get(kLedger)->size(), 107u);
}

TEST_F(EmbeddedStore, DamagedRunLengthTableIsTold) {
  MakeLedger();
  v1::StoredHistory history;
  history.set_size(3);
  ASSERT_TRUE(Open().value()->PutHistory(kLedger, history).ok());
  ASSERT_TRUE(Open().value()->GetHistory(kLedger).ok());  // the control
  Tamper([](rocksdb::DB& db) {
    std::string value;
    const rocksdb::Status read = db.Get({}, embedded::HistoryKey(0), &value);
    if (!read.ok()) return read;
    value.back() = static_cast<char>(value.back() ^ 1);
    return db.Put({}, embedded::HistoryKey(0), value);
  });
  const auto store = Open().value();
  EXPECT_TRUE(IsError(store->GetHistory(kLedger).status(), StatusCode::kDataLoss, "",
                      "projects/p/ledgers/a: its run-length table is damaged"));
  EXPECT_TRUE(store->Healthy());
  EXPECT_TRUE(store->PutHistory(kLedger, history).ok());  // made again from the entries
  EXPECT_TRUE(store->GetHistory(kLedger).ok());
}

// A store whose ledger and registry were signed, the registry with three entries.
class SignedStore : public EmbeddedStore {
 protected:
  void SetUp() override {
    MakeLedger();
    const auto store = Open().value();
    Publication publication;
    publication.registry_entries = {"a", "b", "c"};
    publication.logs.resize(2);
    publication.logs[0].log = kLedger;
    publication.logs[0].checkpoint.set_size(3);
    publication.logs[1].log = kRegistryLog;
    publication.logs[1].checkpoint.set_size(3);
    ASSERT_TRUE(store->checkpoints().Publish(publication).ok());
  }
};

TEST_F(SignedStore, ShorterRegistryIsRefusedAtOpening) {
  ASSERT_TRUE(Open().ok());  // the control
  Tamper([](rocksdb::DB& db) { return db.Delete({}, embedded::RegistryKey(2)); });
  EXPECT_TRUE(IsError(Open().status(), StatusCode::kDataLoss, "",
                      "the registry: has 2 entries, but 3 were signed"));
}

TEST_F(SignedStore, ShorterLedgerIsRefusedAtOpening) {
  Tamper([](rocksdb::DB& db) {
    v1::StoredCheckpoint checkpoint;
    checkpoint.set_size(4);
    return db.Put({}, embedded::CheckpointKey(0), checkpoint.SerializeAsString());
  });
  EXPECT_TRUE(IsError(Open().status(), StatusCode::kDataLoss, "",
                      "projects/p/ledgers/a: has 3 entries, but 4 were signed"));
}

TEST_F(SignedStore, MissingRegistryEntryIsNotReadOver) {
  Tamper([](rocksdb::DB& db) { return db.Delete({}, embedded::RegistryKey(1)); });
  const auto store = Open().value();
  EXPECT_EQ(store->checkpoints().ReadRegistry(0, 1)->size(), 1u);
  EXPECT_TRUE(IsError(store->checkpoints().ReadRegistry(0, 3).status(), StatusCode::kDataLoss, "",
                      "the registry: entry 1 is missing"));
}

TEST_F(EmbeddedStore, MissingBatchIsNotReadOver) {
  MakeLedger();
  ASSERT_TRUE(Open().value()->Append(RoundBatch(kLedger, "w", "r2", 2)).ok());
  Tamper([](rocksdb::DB& db) { return db.Delete({}, embedded::BatchKey(0, 1)); });
  const auto store = Open().value();
  EXPECT_TRUE(store->Read(kLedger, 0, 1, 1).ok());
  EXPECT_TRUE(store->Read(kLedger, 4, 9, 1 << 20).ok());
  for (uint64_t first : {0, 1, 2}) {
    EXPECT_TRUE(
        IsError(store->Read(kLedger, first, 9, 1 << 20).status(), StatusCode::kDataLoss, "",
                absl::StrCat("projects/p/ledgers/a: entry ", first == 2 ? 2 : 1, " is missing")));
  }
  EXPECT_TRUE(store->Healthy());
}

TEST_F(EmbeddedStore, DamagedBatchIsTold) {
  MakeLedger();
  ASSERT_TRUE(Open().value()->Append(RoundBatch(kLedger, "w", "r2", 2)).ok());
  Tamper(&CutBatch<1>);
  const auto store = Open().value();
  EXPECT_TRUE(store->Read(kLedger, 3, 9, 1 << 20).ok());
  EXPECT_TRUE(IsError(store->Read(kLedger, 2, 9, 1 << 20).status(), StatusCode::kDataLoss, "",
                      "projects/p/ledgers/a: the batch of entry 1 is cut short"));
  EXPECT_TRUE(store->Healthy());
}

TEST_F(EmbeddedStore, EntriesAreReadFromWithinTheirBatches) {
  MakeLedger();
  const auto store = Open().value();
  v1::AppendBatchRequest many = Batch(kLedger, "w", "many");
  for (int i = 0; i < 1000; ++i) AddNote(many, absl::StrCat("note ", i));
  ASSERT_TRUE(store->Append(many).ok());
  ASSERT_TRUE(store->Append(RoundBatch(kLedger, "w", "r2", 2)).ok());
  const std::vector<std::string> all = store->Read(kLedger, 0, 9999, 1 << 20).value();
  ASSERT_EQ(all.size(), 1005u);
  for (uint64_t first : {0, 1, 2, 3, 500, 1002, 1003, 1004}) {
    for (size_t count : {1, 2, 501}) {
      const auto page = store->Read(kLedger, first, count, 1 << 20);
      ASSERT_TRUE(page.ok()) << page.status();
      const auto end = std::min(all.size(), first + count);
      EXPECT_EQ(*page, std::vector<std::string>(all.begin() + static_cast<ptrdiff_t>(first),
                                                all.begin() + static_cast<ptrdiff_t>(end)));
    }
  }
}

}  // namespace
}  // namespace dpledger
