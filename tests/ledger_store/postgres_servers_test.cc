// Several servers on one PostgreSQL database, and what happens to their connections.
#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "ledger_store/postgres/postgres_store.h"
#include "tests/ledger_store/acknowledged_load.h"
#include "tests/ledger_store/postgres_server.h"
#include "tests/ledger_store/requests.h"

namespace dpledger {
namespace {

using absl::StatusCode;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class PostgresServers : public ::testing::Test {
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
  std::vector<std::string> Wrong(const Acknowledged& acknowledged) {
    return WrongWith(ReadAll(*first_, kLedger), first_->Get(kLedger)->root_hash(), acknowledged);
  }

  static PostgresServer* server_;
  std::unique_ptr<LedgerStore> first_;
  std::unique_ptr<LedgerStore> second_;
};
PostgresServer* PostgresServers::server_ = nullptr;

TEST_F(PostgresServers, RaceForOneLedgerLeavesItDense) {
  AcknowledgedLoad load({first_.get(), second_.get()}, kLedger, 8);
  load.Await(400);
  load.Stop();
  EXPECT_THAT(load.surprises(), IsEmpty());
  EXPECT_THAT(Wrong(load.acknowledged()), IsEmpty());
  EXPECT_EQ(ReadAll(*first_, kLedger).size(), 1 + 2 * load.count());
  EXPECT_EQ(second_->Get(kLedger)->root_hash(), first_->Get(kLedger)->root_hash());
}

// The check above, on what a store without a compare-and-set would have left.
TEST_F(PostgresServers, CheckNoticesDoublesGapsAndLosses) {
  const auto receipt = first_->Append(RoundBatch(kLedger, "w", "r1", 1));
  ASSERT_TRUE(receipt.ok() && second_->Append(RoundBatch(kLedger, "w", "r2", 2)).ok());
  const std::vector<std::string> entries = ReadAll(*first_, kLedger);
  const std::string root = first_->Get(kLedger)->root_hash();
  EXPECT_THAT(WrongWith(entries, root, {{"r1", *receipt}}), IsEmpty());
  EXPECT_THAT(WrongWith(entries, root, {{"r3", *receipt}}),
              Contains("r3 was acknowledged and is not there"));
  std::vector<std::string> doubled = entries;
  doubled.insert(doubled.end(), entries.begin() + 3, entries.end());
  EXPECT_THAT(WrongWith(doubled, root, {}), Contains(HasSubstr("r2 has 4 entries")));
  std::vector<std::string> holed = entries;
  holed.erase(holed.begin() + 1, holed.begin() + 3);
  EXPECT_THAT(WrongWith(holed, root, {}), Contains("entry 1 is another one"));
}

TEST_F(PostgresServers, RequestIsStoredOnceWhicheverServerGetsIt) {
  const v1::AppendBatchRequest request = RoundBatch(kLedger, "w", "r1", 1);
  std::vector<std::thread> senders;
  std::vector<absl::StatusOr<v1::Receipt>> receipts(20);
  for (size_t i = 0; i < receipts.size(); ++i) {
    senders.emplace_back([&, i] { receipts[i] = (i % 2 ? first_ : second_)->Append(request); });
  }
  for (std::thread& sender : senders) sender.join();
  for (const auto& receipt : receipts) {
    ASSERT_TRUE(receipt.ok()) << receipt.status();
    EXPECT_EQ(receipt->SerializeAsString(), receipts[0]->SerializeAsString());
  }
  EXPECT_EQ(ReadAll(*first_, kLedger).size(), 3u);
}

TEST_F(PostgresServers, LedgerIsMadeOnceWhicheverServerIsAsked) {
  const std::string name = "projects/p/ledgers/raced";
  std::vector<std::thread> askers;
  std::atomic<int> made = 0;
  std::atomic<int> refused = 0;
  for (int i = 0; i < 8; ++i) {
    askers.emplace_back([&, i] {
      const auto ledger =
          (i % 2 ? first_ : second_)->Create(CreateRequest(name, absl::StrCat("create", i)));
      if (ledger.ok()) ++made;
      if (IsError(ledger.status(), StatusCode::kAlreadyExists, "LEDGER_EXISTS", name)) ++refused;
    });
  }
  for (std::thread& asker : askers) asker.join();
  EXPECT_EQ(made, 1);
  EXPECT_EQ(refused, 7);
}

TEST_F(PostgresServers, SecondServerSignsOnlyWhenTheLeaseIsOver) {
  const auto epoch = first_->checkpoints().AcquireLease("host-1.example:17:0af3", absl::Hours(1));
  ASSERT_TRUE(epoch.ok()) << epoch.status();
  EXPECT_EQ(*first_->checkpoints().AcquireLease("host-1.example:17:0af3", absl::Hours(1)), *epoch);
  EXPECT_TRUE(IsError(
      second_->checkpoints().AcquireLease("host-2.example:17:0af3", absl::Hours(1)).status(),
      StatusCode::kUnavailable, "SIGNER_ELSEWHERE", "another server"));
  // By the database's clock; the first server does not learn of it.
  server_->Must("UPDATE dpledger.signer SET expires = clock_timestamp()");
  for (const std::string& holder : {std::string(), std::string("a b"), std::string("a\0", 2)}) {
    EXPECT_TRUE(IsError(second_->checkpoints().AcquireLease(holder, absl::Hours(1)).status(),
                        StatusCode::kInvalidArgument, "INVALID_FIELD", "holder: must be 1 to 512"));
  }
  const auto later = second_->checkpoints().AcquireLease("host-2.example:17:0af3", absl::Hours(1));
  ASSERT_TRUE(later.ok()) << later.status();
  EXPECT_GT(*later, *epoch);
  Publication publication;
  publication.lease_epoch = *epoch;
  EXPECT_TRUE(IsError(first_->checkpoints().Publish(publication), StatusCode::kAborted,
                      "SIGNER_REPLACED", "lease_epoch: another signer has taken over"));
  publication.lease_epoch = *later;
  EXPECT_TRUE(second_->checkpoints().Publish(publication).ok());
}

TEST_F(PostgresServers, EndedConnectionsLoseAndDoubleNothing) {
  AcknowledgedLoad load({first_.get(), second_.get()}, kLedger, 8);
  for (size_t i = 1; i <= 30; ++i) {
    load.Await(10 * i);
    server_->Must(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
        " WHERE application_name = 'dpledger'");
  }
  load.Stop(absl::Minutes(1));
  EXPECT_THAT(load.surprises(), IsEmpty());
  EXPECT_THAT(Wrong(load.acknowledged()), IsEmpty());
  EXPECT_EQ(ReadAll(*first_, kLedger).size(), 1 + 2 * load.count());
}

TEST_F(PostgresServers, StoppedDatabaseIsUnavailableAndTakenUpAgain) {
  ASSERT_TRUE(first_->Append(RoundBatch(kLedger, "w", "r1", 1)).ok());
  server_->Stop();
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(IsError(first_->Append(RoundBatch(kLedger, "w", "r2", 2)).status(),
                        StatusCode::kUnavailable, "STORE_UNREACHABLE", "cannot be reached"));
    EXPECT_TRUE(IsError(first_->Get(kLedger).status(), StatusCode::kUnavailable,
                        "STORE_UNREACHABLE", "cannot be reached"));
  }
  EXPECT_TRUE(first_->Healthy());
  server_->Start();
  EXPECT_TRUE(first_->Append(RoundBatch(kLedger, "w", "r2", 2)).ok());
  EXPECT_EQ(second_->Get(kLedger)->size(), 5u);
}

TEST_F(PostgresServers, DamagedChunkIsNotHandedOut) {
  ASSERT_TRUE(first_->Append(RoundBatch(kLedger, "w", "r1", 1)).ok());
  ASSERT_TRUE(first_->Append(RoundBatch(kLedger, "w", "r2", 2)).ok());
  server_->Must(
      "UPDATE dpledger.chunks SET body = set_byte(body, 20, get_byte(body, 20) # 1)"
      " WHERE first_seq = 1");
  EXPECT_TRUE(IsError(first_->Read(kLedger, 0, 9, 1 << 20).status(), StatusCode::kDataLoss, "",
                      "projects/p/ledgers/a: the entries from 1 on: does not match its hash"));
  EXPECT_EQ(first_->Read(kLedger, 3, 9, 1 << 20)->size(), 2u);
  server_->Must("DELETE FROM dpledger.chunks WHERE first_seq = 3");
  EXPECT_TRUE(IsError(first_->Read(kLedger, 3, 9, 1 << 20).status(), StatusCode::kDataLoss, "",
                      "entry 3 is missing"));
}

TEST_F(PostgresServers, DamagedHeadSpoilsNoOtherLedger) {
  const std::string other = "projects/p/ledgers/b";
  ASSERT_TRUE(first_->Create(CreateRequest(other)).ok());
  server_->Must("UPDATE dpledger.ledgers SET next_seq = 7 WHERE name = '" + kLedger + "'");
  std::vector<std::thread> senders;
  std::vector<absl::Status> answers(8);
  for (size_t i = 0; i < answers.size(); ++i) {
    senders.emplace_back([&, i] {
      answers[i] = first_
                       ->Append(RoundBatch(i % 2 ? other : kLedger, absl::StrCat("w", i),
                                           absl::StrCat("r", i), 1))
                       .status();
    });
  }
  for (std::thread& sender : senders) sender.join();
  for (size_t i = 0; i < answers.size(); ++i) {
    if (i % 2) {
      EXPECT_TRUE(answers[i].ok()) << answers[i];
    } else {
      EXPECT_TRUE(IsError(answers[i], StatusCode::kDataLoss, "", "another size or root"));
    }
  }
}

}  // namespace
}  // namespace dpledger
