// Ledgers with many writers on PostgreSQL: servers that keep heads in memory, and move them on over
// what other servers have added.
#include <string>

#include "absl/strings/str_cat.h"
#include "ledger_store/postgres/head_cache.h"
#include "ledger_store/postgres/postgres_store.h"
#include "tests/ledger_store/postgres_server.h"
#include "tests/ledger_store/requests.h"

namespace dpledger {
namespace {

using absl::StatusCode;

class PostgresWriters : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { server_ = new PostgresServer(); }
  static void TearDownTestSuite() { delete server_; }
  void SetUp() override {
    first_ = Open();
    second_ = Open();
    ASSERT_TRUE(first_->Create(CreateRequest(kLedger)).ok());
  }
  void TearDown() override {
    first_.reset();
    second_.reset();
    server_->Must("DROP SCHEMA dpledger CASCADE");
  }

  static std::unique_ptr<LedgerStore> Open() {
    PostgresOptions options;
    options.connection = server_->Connection();
    auto store = OpenPostgresStore(options);
    EXPECT_TRUE(store.ok()) << store.status();
    return *std::move(store);
  }
  static void Write(LedgerStore& store, const std::string& writer, uint64_t round) {
    const auto receipt =
        store.Append(RoundBatch(kLedger, writer, absl::StrCat(writer, "-", round), round));
    ASSERT_TRUE(receipt.ok()) << receipt.status();
  }
  // What the store says of the ledger is what one that knows nothing yet reads.
  static void ExpectTrue(LedgerStore& store) {
    EXPECT_EQ(store.Get(kLedger)->SerializeAsString(), Open()->Get(kLedger)->SerializeAsString());
  }

  static PostgresServer* server_;
  std::unique_ptr<LedgerStore> first_;
  std::unique_ptr<LedgerStore> second_;
};
PostgresServer* PostgresWriters::server_ = nullptr;

TEST_F(PostgresWriters, ServersFollowEachOther) {
  for (uint64_t round = 1; round <= 5; round += 2) {
    Write(*first_, "a", round);
    Write(*first_, absl::StrCat("first-", round), 1);
    Write(*second_, "a", round + 1);
    Write(*second_, absl::StrCat("second-", round), 1);
    ExpectTrue(*first_);
    ExpectTrue(*second_);
  }
  v1::SealLedgerRequest seal = SealRequest(kLedger);
  seal.set_open_writers_are_missing(true);
  ASSERT_TRUE(second_->Seal(seal).ok());
  EXPECT_TRUE(IsError(first_->Append(RoundBatch(kLedger, "a", "late", 1000)).status(),
                      StatusCode::kFailedPrecondition, "LEDGER_SEALED", "sealed"));
  ExpectTrue(*first_);
}

// An append reads and writes its own writer, and no other: the rows of others are damaged here.
TEST_F(PostgresWriters, AppendTouchesItsWriterOnly) {
  Write(*first_, "a", 1);
  Write(*first_, "b", 1);
  ExpectTrue(*second_);
  server_->Must("UPDATE dpledger.writers SET status = 'x' WHERE writer = 'b'");
  Write(*first_, "a", 2);
  Write(*second_, "c", 1);
  Write(*first_, "a", 3);
  EXPECT_EQ(first_->Get(kLedger)->size(), 11u);
  EXPECT_EQ(server_->Must("SELECT status FROM dpledger.writers WHERE writer = 'b'"), "\\x78");
  EXPECT_TRUE(IsError(Open()->Get(kLedger).status(), StatusCode::kDataLoss, "",
                      "its writers do not parse"));
}

// A server that follows reads the rows of those who wrote: one that is not what the entries make of
// it is not taken.
TEST_F(PostgresWriters, ChangedRowOfAFollowedWriterIsDamage) {
  Write(*first_, "a", 1);
  ExpectTrue(*second_);
  Write(*first_, "a", 2);
  server_->Must(
      "UPDATE dpledger.writers SET status = (SELECT status FROM dpledger.writers WHERE writer = '')"
      " WHERE writer = 'a'");
  EXPECT_EQ(second_->Get(kLedger).status().code(), StatusCode::kDataLoss);
}

// A failover that lost what it had not sent: the same ledger, with another end.
TEST_F(PostgresWriters, HeadOfALostEndIsNotBelieved) {
  const auto copy = [](const std::string& from, const std::string& to) {
    for (const char* table : {"ledgers", "writers", "chunks", "requests"}) {
      server_->Must(absl::StrCat("DROP TABLE IF EXISTS ", to, ".", table, "_kept"));
      server_->Must(
          absl::StrCat("CREATE TABLE ", to, ".", table, "_kept AS TABLE ", from, ".", table));
    }
  };
  const auto go_back = [] {
    for (const char* table : {"ledgers", "writers", "chunks", "requests"}) {
      server_->Must(absl::StrCat("TRUNCATE dpledger.", table, "; INSERT INTO dpledger.", table,
                                 " SELECT * FROM dpledger.", table, "_kept"));
    }
  };
  Write(*first_, "a", 1);
  copy("dpledger", "dpledger");
  for (const uint64_t rounds : {1, 2, 3}) {
    Write(*first_, "a", 5);
    Write(*first_, "b", 1);
    go_back();
    for (uint64_t round = 1; round <= rounds; ++round) Write(*second_, absl::StrCat("c", round), 1);
    Write(*first_, "a", 3);
    ExpectTrue(*first_);
    ExpectTrue(*second_);
    go_back();
  }
}

TEST(HeadCache, KeepsTheLedgersUsedLast) {
  postgres::HeadCache cache(10);  // two without writers
  const auto head = [](const std::string& name, int writers) {
    auto made = std::make_shared<LedgerHead>();
    made->name = name;
    for (int i = 0; i < writers; ++i) {
      v1::WriterStatus writer;
      writer.set_writer(absl::StrCat("w", i));
      made->writers.Put(writer);
    }
    return made;
  };
  cache.Put(head("a", 0));
  cache.Put(head("b", 0));
  EXPECT_NE(cache.Find("a"), nullptr);
  cache.Put(head("c", 0));
  EXPECT_EQ(cache.Find("b"), nullptr);
  EXPECT_NE(cache.Find("a"), nullptr);
  EXPECT_NE(cache.Find("c"), nullptr);
  const auto large = head("a", 100);
  cache.Put(large);
  EXPECT_EQ(cache.Find("a"), large);
  EXPECT_EQ(cache.Find("c"), nullptr);
  cache.Put(head("a", 0));
  cache.Put(head("c", 0));
  EXPECT_NE(cache.Find("a"), nullptr) << "what was replaced counts no more";
}

}  // namespace
}  // namespace dpledger
