// The authenticator of a stored head: whatever of the head, its writers or its entry 0 is another,
// the head is not taken.
#include "ledger/stored_head.h"

#include <functional>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/hex.h"
#include "ledger/batch_row.h"
#include "merkle/compact_tree.h"
#include "tests/ledger_store/requests.h"

namespace dpledger {
namespace {

using absl::StatusCode;

const absl::Time kNow = absl::FromUnixSeconds(1'700'000'041);

WriterMap::Key KeyFrom(char seed) {
  return std::make_shared<const merkle::Authenticator>(
      *merkle::Ed25519PrivateKey::FromSeed(std::string(32, seed)), kHeadPurpose);
}

// What a store keeps of a ledger.
struct Rows {
  std::string name = kLedger;
  std::string first;
  v1::StoredHead head;
  std::map<std::string, v1::WriterStatus> writers;

  absl::StatusOr<LedgerHead> Read(const HeadKeys& keys = {KeyFrom('k'), nullptr}) const {
    return FromStored(name, first, head, writers, keys);
  }
};

Rows RowsOf(const LedgerHead& head, const std::string& first) {
  Rows rows;
  rows.name = head.name;
  rows.first = first;
  rows.head = ToStored(head);
  for (const v1::WriterStatus& writer : head.writers) rows.writers[writer.writer()] = writer;
  return rows;
}

// A ledger that two writers write in.
class StoredHeads : public ::testing::Test {
 protected:
  void SetUp() override {
    NewLedger made = Create(CreateRequest(kLedger), kNow).value();
    first_ = DecodeBatchRow(made.change.entries)->front();
    head_ = std::move(made.empty);
    head_.writers = WriterMap(KeyFrom('k'));
    Apply(made.change, head_);
    Append("a", 1);
    Append("b", 1);
  }
  void Append(const std::string& writer, uint64_t round) {
    auto batch = RoundBatch(kLedger, writer, absl::StrCat(writer, round), round);
    Apply(AppendBatch(head_, BatchDraft(std::move(batch)), kNow).value(), head_);
  }
  Rows Stored() const { return RowsOf(head_, first_); }

  std::string first_;
  LedgerHead head_;
};

::testing::AssertionResult IsNotAuthentic(const absl::Status& status) {
  return IsError(status, StatusCode::kDataLoss, "",
                 "is not as a server with this signing key left");
}

TEST_F(StoredHeads, AreReadAsTheyWereWritten) {
  const auto read = Stored().Read();
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(Describe(*read).SerializeAsString(), Describe(head_).SerializeAsString());
  EXPECT_TRUE(IsCurrent(Stored().head, *read));
  EXPECT_FALSE(read->needs_key);
  EXPECT_EQ(read->writers.code().bytes(), head_.writers.code().bytes());
  // What comes of it goes on as before.
  EXPECT_EQ(ToStored(*read).SerializeAsString(), Stored().head.SerializeAsString());
}

TEST_F(StoredHeads, AreRefusedWhereTheirPartsDoNotFit) {
  Rows rows = Stored();
  rows.head.mutable_frontier()->pop_back();
  EXPECT_TRUE(IsError(rows.Read().status(), StatusCode::kDataLoss, "", "frontier is cut off"));
  rows = Stored();
  rows.head.set_size(8);
  EXPECT_TRUE(IsError(rows.Read().status(), StatusCode::kDataLoss, "",
                      "a tree of 8 leaves has 1 subtrees, got 2"));
  rows = Stored();
  rows.writers.clear();
  EXPECT_TRUE(IsError(rows.Read().status(), StatusCode::kDataLoss, "",
                      "its head counts 5 entries, its writers 0"));
  rows = Stored();
  rows.first = "x";
  EXPECT_TRUE(IsError(rows.Read().status(), StatusCode::kDataLoss, "", "entry 0 does not parse"));
  rows.first.clear();
  EXPECT_TRUE(IsError(rows.Read().status(), StatusCode::kDataLoss, "",
                      "entry 0 is no declaration, fork or import"));
}

// Computed with Python's hmac from docs/formats.md, section 2.
TEST_F(StoredHeads, HaveTheAuthenticatorThatTheFormatSays) {
  EXPECT_EQ(HexEncode(Stored().head.authenticator()),
            "999621a38e2b2a673de7e9321e064c5756fde58deffe70af5232fb51adf6acd9");
}

TEST_F(StoredHeads, AreRefusedWhateverIsChanged) {
  const std::map<std::string, std::function<void(Rows&)>> changes = {
      {"the ledger's name", [](Rows& rows) { rows.name = "projects/p/ledgers/b"; }},
      {"entry 0",
       [](Rows& rows) {
         v1::LedgerEntry first;
         ASSERT_TRUE(first.ParseFromString(rows.first));
         first.mutable_declaration()->set_dataset("adulu");
         rows.first = first.SerializeAsString();
       }},
      {"the time of entry 0",
       [](Rows& rows) {
         v1::LedgerEntry first;
         ASSERT_TRUE(first.ParseFromString(rows.first));
         first.mutable_recorded_time()->set_seconds(60);
         rows.first = first.SerializeAsString();
       }},
      {"the state", [](Rows& rows) { rows.head.set_state(v1::SEALED); }},
      {"the last time",
       [](Rows& rows) { rows.head.mutable_last_recorded_time()->set_seconds(60); }},
      {"the tree", [](Rows& rows) { rows.head.mutable_frontier()->back() ^= 1; }},
      {"a writer that has closed", [](Rows& rows) { rows.writers["a"].set_closed(true); }},
      {"a writer's last round", [](Rows& rows) { rows.writers["b"].set_last_round(0); }},
      {"the server's own", [](Rows& rows) { rows.writers[""].set_closed(true); }},
      {"whose entries are whose",
       [](Rows& rows) {
         rows.writers["a"].set_entry_count(3);
         rows.writers["b"].set_entry_count(1);
       }},
      {"two writers' places",
       [](Rows& rows) {
         std::swap(rows.writers["a"], rows.writers["b"]);
         rows.writers["a"].set_writer("a");
         rows.writers["a"].set_last_round(7);
         rows.writers["b"].set_writer("b");
       }},
      {"one more writer", [](Rows& rows) { rows.writers["c"].set_writer("c"); }},
      {"a field of a later version",
       [](Rows& rows) { ASSERT_TRUE(rows.head.MergeFromString("\xa0\x06\x01")); }},
      {"a bit of the authenticator",
       [](Rows& rows) { rows.head.mutable_authenticator()->front() ^= 1; }},
      {"the authenticator's end",
       [](Rows& rows) { rows.head.mutable_authenticator()->pop_back(); }},
  };
  for (const auto& [what, change] : changes) {
    Rows rows = Stored();
    change(rows);
    EXPECT_TRUE(IsNotAuthentic(rows.Read().status())) << what;
    rows.head.clear_authenticator();
    EXPECT_TRUE(IsError(rows.Read().status(), StatusCode::kDataLoss, "", "has no authenticator"))
        << what;
    EXPECT_TRUE(rows.Read({}).ok()) << what << ": the control, without a key";
  }
}

// Every field of a writer's status, by reflection.
TEST_F(StoredHeads, CoverEveryFieldOfAWriter) {
  const google::protobuf::Descriptor& fields = *v1::WriterStatus::descriptor();
  for (int i = 0; i < fields.field_count(); ++i) {
    const google::protobuf::FieldDescriptor& field = *fields.field(i);
    if (field.name() == "writer" || field.name() == "entry_count") continue;  // tried above
    Rows rows = Stored();
    v1::WriterStatus& writer = rows.writers["a"];
    const google::protobuf::Reflection& change = *writer.GetReflection();
    if (field.is_repeated()) {
      change.AddMessage(&writer, &field);
    } else if (field.cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) {
      change.MutableMessage(&writer, &field);
    } else if (field.cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_STRING) {
      change.SetString(&writer, &field, "other");
    } else if (field.cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_BOOL) {
      change.SetBool(&writer, &field, !change.GetBool(writer, &field));
    } else {
      change.SetUInt64(&writer, &field, 77);
    }
    EXPECT_TRUE(IsNotAuthentic(rows.Read().status())) << field.name();
  }
}

// A row that was true once, beside what came after.
TEST_F(StoredHeads, AreRefusedWithAnOlderRow) {
  const Rows before = Stored();
  Append("a", 2);
  Rows rows = Stored();
  rows.writers["a"] = before.writers.at("a");
  EXPECT_EQ(rows.Read().status().code(), StatusCode::kDataLoss);
  // So that the counts add up.
  Append("b", 2);
  rows = Stored();
  rows.writers["a"].set_last_round(1);
  EXPECT_TRUE(IsNotAuthentic(rows.Read().status()));
  rows = Stored();
  rows.head = before.head;
  EXPECT_EQ(rows.Read().status().code(), StatusCode::kDataLoss);
  // All of it is a head, of the size that it had: engines compare that with the entries.
  EXPECT_TRUE(before.Read().ok());
}

TEST_F(StoredHeads, BelongToTheKey) {
  EXPECT_TRUE(IsNotAuthentic(Stored().Read({KeyFrom('l'), nullptr}).status()));
  // After a change of key, in either order.
  const auto taken = Stored().Read({KeyFrom('l'), KeyFrom('k')});
  ASSERT_TRUE(taken.ok()) << taken.status();
  EXPECT_FALSE(IsCurrent(Stored().head, *taken));
  const Rows renewed = RowsOf(*taken, first_);
  EXPECT_TRUE(renewed.Read({KeyFrom('l'), nullptr}).ok());
  EXPECT_TRUE(IsNotAuthentic(renewed.Read({KeyFrom('k'), nullptr}).status()));
  Rows forged = Stored();
  forged.writers["a"].set_closed(true);
  EXPECT_TRUE(IsNotAuthentic(forged.Read({KeyFrom('l'), KeyFrom('k')}).status()));
}

TEST_F(StoredHeads, WithoutAnAuthenticatorAreRefusedWhereThereIsAKey) {
  head_.writers = WriterMap(Stored().writers);
  const Rows bare = Stored();
  EXPECT_TRUE(bare.head.authenticator().empty());
  for (const HeadKeys& keys : {HeadKeys{KeyFrom('k'), nullptr}, {KeyFrom('l'), KeyFrom('k')}}) {
    EXPECT_TRUE(IsError(bare.Read(keys).status(), absl::StatusCode::kDataLoss, "",
                        "its head has no authenticator"));
  }
}

TEST_F(StoredHeads, AreReadWithoutAKeyAndNotAddedTo) {
  const auto read = Stored().Read({});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(read->needs_key);
  EXPECT_EQ(Describe(*read).SerializeAsString(), Describe(head_).SerializeAsString());
}

// The code of a map depends on what is in it alone.
TEST_F(StoredHeads, HaveOneCodeHoweverTheirWritersCame) {
  WriterMap one_by_one(KeyFrom('k'));
  std::map<std::string, v1::WriterStatus> all;
  for (int i = 0; i < 100; ++i) {
    v1::WriterStatus writer;
    writer.set_writer(absl::StrCat("w", i * 37 % 100));
    for (const uint64_t count : {1, 2, 3}) {
      writer.set_entry_count(count);
      one_by_one.Put(writer);
    }
    all[writer.writer()] = writer;
  }
  EXPECT_EQ(one_by_one.code().bytes(), WriterMap(all, KeyFrom('k')).code().bytes());
  EXPECT_NE(one_by_one.code().bytes(), WriterMap(all, KeyFrom('l')).code().bytes());
  all["w7"].set_closed(true);
  EXPECT_NE(one_by_one.code().bytes(), WriterMap(all, KeyFrom('k')).code().bytes());
}

}  // namespace
}  // namespace dpledger
