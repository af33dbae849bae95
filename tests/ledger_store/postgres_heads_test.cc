// The PostgreSQL engine under its keys: changes of key, counts of ledgers that several servers
// make, and servers that follow each other.
#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/hex.h"
#include "ledger/stored_head.h"
#include "ledger_store/postgres/postgres_store.h"
#include "tests/ledger_store/postgres_server.h"
#include "tests/ledger_store/requests.h"

namespace dpledger {
namespace {

using absl::StatusCode;

const std::string kOther = "projects/p/ledgers/b";

WriterMap::Key KeyFrom(char seed) {
  return std::make_shared<const merkle::Authenticator>(
      *merkle::Ed25519PrivateKey::FromSeed(std::string(32, seed)), kHeadPurpose);
}

class PostgresHeads : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { server_ = new PostgresServer(); }
  static void TearDownTestSuite() { delete server_; }
  void TearDown() override { server_->Must("DROP SCHEMA dpledger CASCADE"); }

  static std::unique_ptr<LedgerStore> Open(const HeadKeys& keys) {
    PostgresOptions options;
    options.connection = server_->Connection();
    options.keys = keys;
    auto store = OpenPostgresStore(options);
    EXPECT_TRUE(store.ok()) << store.status();
    return *std::move(store);
  }
  static void Append(LedgerStore& store, const std::string& writer, uint64_t round) {
    const auto receipt =
        store.Append(RoundBatch(kLedger, writer, absl::StrCat(writer, "-", round), round));
    ASSERT_TRUE(receipt.ok()) << receipt.status();
  }
  // Two ledgers, the first with two writers.
  static void MakeLedgers(const HeadKeys& keys) {
    const auto store = Open(keys);
    for (const std::string& name : {kLedger, kOther}) {
      ASSERT_TRUE(store->Create(CreateRequest(name)).ok());
    }
    Append(*store, "v", 1);
    Append(*store, "w", 1);
  }
  static absl::Status GetWith(const HeadKeys& keys) { return Open(keys)->Get(kLedger).status(); }
  static PostgresServer* server_;
  const HeadKeys keys_{KeyFrom('k'), nullptr};
};
PostgresServer* PostgresHeads::server_ = nullptr;

::testing::AssertionResult IsForged(const absl::Status& status) {
  return IsError(status, StatusCode::kDataLoss, "",
                 "is not as a server with this signing key left");
}

TEST_F(PostgresHeads, TakenAwayAuthenticatorIsDamage) {
  MakeLedgers(keys_);
  EXPECT_TRUE(GetWith(keys_).ok());
  v1::StoredHead head;
  ASSERT_TRUE(head.ParseFromString(*HexDecode(server_->Must(absl::StrCat(
      "SELECT encode(head, 'hex') FROM dpledger.ledgers WHERE name = '", kLedger, "'")))));
  head.clear_authenticator();
  server_->Must(absl::StrCat("UPDATE dpledger.ledgers SET head = '\\x",
                             HexEncode(head.SerializeAsString()), "' WHERE name = '", kLedger,
                             "'"));
  EXPECT_TRUE(IsError(GetWith(keys_), StatusCode::kDataLoss, "", "its head has no authenticator"));
}

TEST_F(PostgresHeads, ChangeOfKeyWritesHeadsAndCountsAnew) {
  MakeLedgers(keys_);
  const HeadKeys other{KeyFrom('l'), nullptr};
  EXPECT_TRUE(IsForged(GetWith(other)));
  EXPECT_FALSE(Open(other)->CountDeclaring("adult").ok());
  {
    const auto store = Open({KeyFrom('l'), KeyFrom('k')});
    Append(*store, "w", 2);  // under the new key at once
    const auto renewed = store->RenewHeads();
    ASSERT_TRUE(renewed.ok()) << renewed.status();
    EXPECT_EQ(*renewed, 1u);
  }
  const auto store = Open(other);
  EXPECT_TRUE(store->RenewHeads().ok());
  EXPECT_EQ(store->Get(kLedger)->size(), 7u);
  EXPECT_EQ(store->Get(kOther)->size(), 1u);
  EXPECT_EQ(*store->CountDeclaring("adult"), 2u);
  EXPECT_TRUE(IsForged(GetWith(keys_)));
}

TEST_F(PostgresHeads, WithoutTheKeyTheDatabaseIsReadOnly) {
  MakeLedgers(keys_);
  const auto store = Open({});
  EXPECT_EQ(store->Get(kLedger)->size(), 5u);
  EXPECT_TRUE(IsError(store->Append(RoundBatch(kLedger, "w", "w-2", 2)).status(),
                      StatusCode::kFailedPrecondition, "KEY_NEEDED", "without the key"));
}

// A server that has the head in memory and moves it on over another one's entries.
TEST_F(PostgresHeads, FollowingServerDoesNotBelieveAForgedRow) {
  MakeLedgers(keys_);
  const auto first = Open(keys_);
  const auto second = Open(keys_);
  ASSERT_TRUE(second->Get(kLedger).ok());
  Append(*first, "w", 2);
  const auto forge = [](const char* table, const char* column, const std::string& where,
                        const std::string& bytes) {
    server_->Must(absl::StrCat("UPDATE dpledger.", table, " SET ", column, " = '\\x",
                               HexEncode(bytes), "' WHERE ", where));
  };
  const std::string row = absl::StrCat("ledger = '", kLedger, "' AND writer = 'w'");
  const std::string stored = *HexDecode(server_->Must(
      absl::StrCat("SELECT encode(status, 'hex') FROM dpledger.writers WHERE ", row)));
  v1::WriterStatus writer;
  ASSERT_TRUE(writer.ParseFromString(stored));
  writer.set_closed(true);
  forge("writers", "status", row, writer.SerializeAsString());
  EXPECT_TRUE(IsForged(second->Get(kLedger).status()));
  EXPECT_TRUE(first->Get(kLedger).ok()) << "it knows the head, and reads no row";
  forge("writers", "status", row, stored);
  EXPECT_EQ(second->Get(kLedger)->SerializeAsString(), first->Get(kLedger)->SerializeAsString());
}

TEST_F(PostgresHeads, CountsAreRightHoweverManyMakeLedgers) {
  constexpr int kThreads = 8, kEach = 12;
  std::vector<std::unique_ptr<LedgerStore>> servers;
  for (int i = 0; i < 3; ++i) servers.push_back(Open(keys_));
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      LedgerStore& store = *servers[static_cast<size_t>(t) % servers.size()];
      for (int i = 0; i < kEach; ++i) {
        v1::CreateLedgerRequest request =
            CreateRequest(absl::StrCat("projects/p/ledgers/t", t, "-", i));
        request.mutable_declaration()->set_dataset(i % 3 == 0 ? "mnist" : "adult");
        const auto made = store.Create(request);
        EXPECT_TRUE(made.ok()) << made.status();
        EXPECT_TRUE(store.Create(request).ok());  // a repeated request is counted once
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& store : servers) {
    EXPECT_EQ(*store->CountDeclaring("mnist"), uint64_t{kThreads * kEach / 3});
    EXPECT_EQ(*store->CountDeclaring("adult"), uint64_t{kThreads * kEach * 2 / 3});
    EXPECT_EQ(*store->CountDeclaring("none"), 0u);
    EXPECT_TRUE(store->RenewHeads().ok());
  }
}

// An older count put back, with a ledger hidden, under a server that has read the newer one.
TEST_F(PostgresHeads, CountThatGoesBackIsDamage) {
  MakeLedgers(keys_);
  server_->Must("CREATE TABLE dpledger.kept AS TABLE dpledger.datasets");
  const auto store = Open(keys_);
  ASSERT_TRUE(store->Create(CreateRequest("projects/p/ledgers/c")).ok());
  EXPECT_EQ(*store->CountDeclaring("adult"), 3u);
  server_->Must(
      "UPDATE dpledger.datasets SET ledgers = k.ledgers, code = k.code"
      " FROM dpledger.kept AS k");
  server_->Must("UPDATE dpledger.ledgers SET dataset = 'x' WHERE name = 'projects/p/ledgers/c'");
  EXPECT_TRUE(IsError(store->CountDeclaring("adult").status(), StatusCode::kDataLoss, "",
                      "the count of the ledgers that declare the data set \"adult\": it went back "
                      "from 3 to 2"));
  EXPECT_FALSE(store->Create(CreateRequest("projects/p/ledgers/d")).ok());
  server_->Must("DELETE FROM dpledger.datasets");
  EXPECT_TRUE(
      IsError(store->CountDeclaring("adult").status(), StatusCode::kDataLoss, "", "it is missing"));
  EXPECT_FALSE(store->Create(CreateRequest("projects/p/ledgers/d")).ok());
}

}  // namespace
}  // namespace dpledger
