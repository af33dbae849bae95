// The embedded store under its keys: rows that somebody without the key has changed, and changes of
// key.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ledger/stored_head.h"
#include "ledger_store/embedded/embedded_store.h"
#include "ledger_store/embedded/folder.h"
#include "ledger_store/embedded/keys.h"
#include "ledger_store/embedded/rocksdb_options.h"
#include "rocksdb/db.h"
#include "tests/ledger_store/requests.h"
#include "tests/ledger_store/temp_folder.h"

namespace dpledger {
namespace {

using absl::StatusCode;
using embedded::HeadKey;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::string kOther = "projects/p/ledgers/b";

WriterMap::Key KeyFrom(char seed) {
  return std::make_shared<const merkle::Authenticator>(
      *merkle::Ed25519PrivateKey::FromSeed(std::string(32, seed)), kHeadPurpose);
}

class AuthenticHeads : public ::testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<LedgerStore>> Open(const HeadKeys& keys) const {
    return OpenEmbeddedStore({.folder = folder_.path() + "/store", .keys = keys});
  }
  // Two ledgers; in the first, two writers.
  void MakeStore(const HeadKeys& keys) const {
    const auto store = Open(keys).value();
    for (const std::string& name : {kLedger, kOther}) {
      ASSERT_TRUE(store->Create(CreateRequest(name)).ok());
    }
    for (const std::string writer : {"v", "w"}) Append(*store, writer, 1);
  }
  static void Append(LedgerStore& store, const std::string& writer, uint64_t round) {
    const auto receipt =
        store.Append(RoundBatch(kLedger, writer, absl::StrCat(writer, round), round));
    ASSERT_TRUE(receipt.ok()) << receipt.status();
  }
  // Changes the closed store behind its back.
  void Tamper(const std::function<void(rocksdb::DB&)>& change) const {
    rocksdb::DB* opened = nullptr;
    ASSERT_TRUE(
        rocksdb::DB::Open(embedded::DatabaseOptions(nullptr), folder_.path() + "/store", &opened)
            .ok());
    const std::unique_ptr<rocksdb::DB> db(opened);
    change(*db);
  }
  std::string Row(const std::string& key) const {
    std::string value;
    Tamper([&](rocksdb::DB& db) { EXPECT_TRUE(db.Get({}, key, &value).ok()); });
    return value;
  }
  void Put(const std::string& key, const std::string& value) const {
    Tamper([&](rocksdb::DB& db) { EXPECT_TRUE(db.Put({}, key, value).ok()); });
  }
  void Forge(const std::string& writer, void (*change)(embedded::HeadRow&)) const {
    embedded::HeadRow row;
    ASSERT_TRUE(row.ParseFrom(Row(HeadKey(0, writer))));
    change(row);
    Put(HeadKey(0, writer), row.Serialize());
  }
  std::vector<std::string> Fsck(const HeadKeys& keys, std::vector<std::string>* notes = nullptr) {
    FsckReport report;
    FsckOptions options;
    options.keys = keys;
    EXPECT_TRUE(embedded::FsckFolder(folder_.path() + "/store", options, report).ok());
    std::vector<std::string> findings;
    for (const Finding& finding : report.findings()) {
      findings.push_back(absl::StrCat(finding.place, ": ", finding.what));
    }
    if (notes != nullptr) *notes = report.notes();
    return findings;
  }

  const HeadKeys keys_{KeyFrom('k'), nullptr};
  TempFolder folder_;
};

constexpr char kForged[] = "is not as a server with this signing key left";

TEST_F(AuthenticHeads, AreReadAgain) {
  MakeStore(keys_);
  std::string before;
  {
    const auto store = Open(keys_).value();
    const auto renewed = store->RenewHeads();
    ASSERT_TRUE(renewed.ok()) << renewed.status();
    EXPECT_EQ(*renewed, 0u);
    Append(*store, "w", 2);
    before = store->Get(kLedger)->SerializeAsString();
  }
  EXPECT_EQ(Open(keys_).value()->Get(kLedger)->SerializeAsString(), before);
  std::vector<std::string> notes;
  EXPECT_THAT(Fsck(keys_, &notes), IsEmpty());
  EXPECT_THAT(notes, Not(Contains(HasSubstr("no signing key was given"))));
}

TEST_F(AuthenticHeads, ChangedRowsAreDamage) {
  const std::map<std::string, std::function<void()>> changes = {
      {"a writer that has closed",
       [this] { Forge("v", [](embedded::HeadRow& row) { row.writer.set_closed(true); }); }},
      {"the last writer",
       [this] { Forge("w", [](embedded::HeadRow& row) { row.writer.set_last_round(0); }); }},
      {"the state",
       [this] { Forge("w", [](embedded::HeadRow& row) { row.head.set_state(v1::SEALED); }); }},
      {"one more writer",
       [this] {
         embedded::HeadRow row;
         ASSERT_TRUE(row.ParseFrom(Row(HeadKey(0, "v"))));
         row.writer.Clear();
         row.writer.set_writer("x");
         Put(HeadKey(0, "x"), row.Serialize());
       }},
      {"entry 0",
       [this] {
         std::string batch = Row(embedded::BatchKey(0, 0));
         batch.replace(batch.find("adult"), 5, "other");
         Put(embedded::BatchKey(0, 0), batch);
       }},
      {"another ledger's head under its name",
       [this] {
         Tamper([](rocksdb::DB& db) {
           ASSERT_TRUE(db.Put({}, embedded::NameKey(kLedger), embedded::EncodeNumber(1)).ok());
           ASSERT_TRUE(db.Put({}, embedded::NameKey(kOther), embedded::EncodeNumber(0)).ok());
         });
       }},
  };
  for (const auto& [what, change] : changes) {
    SCOPED_TRACE(what);
    std::filesystem::remove_all(folder_.path() + "/store");
    MakeStore(keys_);
    change();
    const absl::Status refused = Open(keys_).status();
    EXPECT_TRUE(IsError(refused, StatusCode::kDataLoss, "", kForged)) << refused;
    EXPECT_THAT(Fsck(keys_), Contains(HasSubstr(kForged)));
    EXPECT_TRUE(Open({}).ok()) << "the control, without a key";
  }
}

TEST_F(AuthenticHeads, OldRowsPutBackAreDamage) {
  MakeStore(keys_);
  const std::string v = Row(HeadKey(0, "v")), w = Row(HeadKey(0, "w"));
  {
    const auto store = Open(keys_).value();
    Append(*store, "w", 2);
    Append(*store, "v", 2);
  }
  const std::string newer = Row(HeadKey(0, "w"));
  Put(HeadKey(0, "w"), w);
  EXPECT_EQ(Open(keys_).status().code(), StatusCode::kDataLoss);
  Put(HeadKey(0, "w"), newer);
  EXPECT_TRUE(Open(keys_).ok());
  // All of them: the ledger has entries beyond.
  Put(HeadKey(0, "w"), w);
  Put(HeadKey(0, "v"), v);
  EXPECT_TRUE(IsError(Open(keys_).status(), StatusCode::kDataLoss, "",
                      "projects/p/ledgers/a: has entries beyond its size 5"));
}

TEST_F(AuthenticHeads, TakenAwayAuthenticatorsAreDamage) {
  MakeStore(keys_);
  for (const std::string writer : {"", "v", "w"}) {
    Forge(writer, [](embedded::HeadRow& row) { row.head.clear_authenticator(); });
  }
  EXPECT_TRUE(IsError(Open(keys_).status(), StatusCode::kDataLoss, "",
                      "projects/p/ledgers/a: its head has no authenticator"));
  EXPECT_THAT(Fsck(keys_), ElementsAre(HasSubstr("its head has no authenticator")));
}

// A program without the key made it.
TEST_F(AuthenticHeads, StoreWithoutAuthenticatorsIsDamage) {
  MakeStore({});
  EXPECT_TRUE(IsError(Open(keys_).status(), StatusCode::kDataLoss, "",
                      "projects/p/ledgers/a: its head has no authenticator"));
}

TEST_F(AuthenticHeads, ChangeOfKeyWritesThemAnew) {
  MakeStore(keys_);
  const HeadKeys other{KeyFrom('l'), nullptr};
  EXPECT_TRUE(IsError(Open(other).status(), StatusCode::kDataLoss, "",
                      "start once more with --previous-signing-key"));
  const HeadKeys both{KeyFrom('l'), KeyFrom('k')};
  {
    const auto store = Open(both).value();
    Append(*store, "w", 2);  // under the new key at once
    EXPECT_EQ(*store->RenewHeads(), 2u);
  }
  EXPECT_TRUE(Open(other).ok());
  EXPECT_EQ(Open(keys_).status().code(), StatusCode::kDataLoss);
  EXPECT_EQ(*Open(both).value()->RenewHeads(), 0u);
}

TEST_F(AuthenticHeads, WithoutTheKeyTheStoreIsReadOnly) {
  MakeStore(keys_);
  const auto store = Open({}).value();
  EXPECT_EQ(store->Get(kLedger)->size(), 5u);
  EXPECT_TRUE(IsError(store->Append(RoundBatch(kLedger, "w", "w2", 2)).status(),
                      StatusCode::kFailedPrecondition, "KEY_NEEDED",
                      "projects/p/ledgers/a: the store was opened without the key"));
  EXPECT_EQ(store->Seal(SealRequest(kLedger)).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(store->Healthy());
}

// What fsck finds without the key, by the entries, and says that it did not look at.
TEST_F(AuthenticHeads, FsckWithoutTheKeyComparesWithTheEntries) {
  MakeStore(keys_);
  std::vector<std::string> notes;
  EXPECT_THAT(Fsck({}, &notes), IsEmpty());
  EXPECT_THAT(notes, Contains(HasSubstr("no signing key was given")));
  Forge("v", [](embedded::HeadRow& row) { row.writer.set_closed(true); });
  EXPECT_THAT(Fsck({}), ElementsAre(HasSubstr("projects/p/ledgers/a: head: says {writer: \"v\"")));
}

// A record of an answer that was not given.
TEST_F(AuthenticHeads, ForgedAnswerIsNotGiven) {
  MakeStore(keys_);
  const std::string answered = Row(embedded::RequestKey(0, "w1"));
  v1::StoredRequest forged;
  ASSERT_TRUE(forged.ParseFromString(answered));
  {
    const auto store = Open(keys_).value();
    EXPECT_EQ(store->Append(RoundBatch(kLedger, "w", "w1", 1))->SerializeAsString(),
              forged.receipt().SerializeAsString());
  }
  forged.mutable_receipt()->set_first_sequence(1);
  forged.mutable_receipt()->set_size(3);
  Put(embedded::RequestKey(0, "w1"), forged.SerializeAsString());
  const auto store = Open(keys_).value();
  EXPECT_TRUE(IsError(store->Append(RoundBatch(kLedger, "w", "w1", 1)).status(),
                      StatusCode::kDataLoss, "FORGED_ANSWER",
                      "its record of how request w1 was answered is not that of its entries"));
  Append(*store, "w", 2);  // nothing else is affected
}

}  // namespace
}  // namespace dpledger
