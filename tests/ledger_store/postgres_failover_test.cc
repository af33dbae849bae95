// A primary whose standby is away. tests/fault/failover_test.cc kills primaries.
#include <gmock/gmock.h>

#include <future>

#include "ledger_store/postgres/postgres_store.h"
#include "tests/ledger_store/acknowledged_load.h"
#include "tests/ledger_store/postgres_server.h"
#include "tests/ledger_store/requests.h"

namespace dpledger {
namespace {

using absl::StatusCode;
using ::testing::IsEmpty;

class StandbyAway : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    primary_ = new PostgresServer();
    standby_ = primary_->MakeSynchronousStandby().release();
  }
  static void TearDownTestSuite() {
    delete standby_;
    delete primary_;
  }
  void SetUp() override {
    PostgresOptions options;
    options.connection = PostgresServer::Connection({primary_, standby_});
    auto store = OpenPostgresStore(options);
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
    ASSERT_TRUE(store_->Create(CreateRequest(kLedger)).ok());
    standby_->Kill();
  }
  void TearDown() override {
    store_.reset();
    if (!standby_->running()) standby_->Start();
    primary_->Must("DROP SCHEMA dpledger CASCADE");
  }
  static void AwaitWait() {
    primary_->Await("SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'SyncRep'", "t");
  }
  // Waits until somebody waits for the standby, and cancels the wait, as an operator might.
  static void CancelWait() {
    AwaitWait();
    primary_->Must(
        "SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
  }
  // The status of `call`, whose wait is cancelled.
  template <typename Call>
  static absl::Status Cancelled(Call call) {
    auto answer = std::async(std::launch::async, call);
    CancelWait();
    return answer.get();
  }

  static PostgresServer* primary_;
  static PostgresServer* standby_;
  std::unique_ptr<LedgerStore> store_;
};
PostgresServer* StandbyAway::primary_ = nullptr;
PostgresServer* StandbyAway::standby_ = nullptr;

TEST_F(StandbyAway, CancelledWaitIsNotAcknowledged) {
  const v1::AppendBatchRequest request = RoundBatch(kLedger, "w", "r1", 1);
  // Once when it is stored, and once when it is only found: the second time, too, nobody knows that
  // the standby has it.
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(IsError(Cancelled([&] { return store_->Append(request).status(); }),
                        StatusCode::kUnavailable, "OUTCOME_UNKNOWN",
                        "the database did not wait for its standby; repeat the same request"));
    EXPECT_EQ(store_->Get(kLedger)->size(), 3u);  // visible all the same
  }
  standby_->Start();
  const auto receipt = store_->Append(request);
  ASSERT_TRUE(receipt.ok()) << receipt.status();
  EXPECT_EQ(receipt->size(), 3u);
  EXPECT_THAT(
      WrongWith(ReadAll(*store_, kLedger), store_->Get(kLedger)->root_hash(), {{"r1", *receipt}}),
      IsEmpty());
}

TEST_F(StandbyAway, CheckpointIsNotHandedOutAndItsPublicationLocksNoHead) {
  Publication publication;
  publication.registry_entries = {"entry"};
  publication.logs.resize(2);
  publication.logs[0].log = kLedger;
  for (SignedLog& log : publication.logs) log.checkpoint.set_size(1);
  const auto is_unknown = [](const absl::Status& status) {
    return IsError(status, StatusCode::kUnavailable, "OUTCOME_UNKNOWN", "standby");
  };
  EXPECT_TRUE(is_unknown(Cancelled(
      [&] { return store_->checkpoints().AcquireLease("signer", absl::Hours(1)).status(); })));
  publication.lease_epoch = std::stoull(primary_->Must("SELECT epoch FROM dpledger.signer"));
  auto published =
      std::async(std::launch::async, [&] { return store_->checkpoints().Publish(publication); });
  AwaitWait();
  // Once it locked the heads of all ledgers that it signed, and so stopped their appends.
  EXPECT_EQ(primary_->Must("SET synchronous_commit = off;"
                           "SELECT name FROM dpledger.ledgers FOR UPDATE NOWAIT"),
            kLedger);
  // The control: what it does lock.
  EXPECT_FALSE(primary_->Query("SELECT id FROM dpledger.signer FOR UPDATE NOWAIT").ok());
  CancelWait();
  EXPECT_TRUE(is_unknown(published.get()));
  EXPECT_EQ(primary_->Must("SELECT count(*) FROM dpledger.checkpoints"), "2");
  for (const std::string& log : {kLedger, std::string(kRegistryLog)}) {
    EXPECT_TRUE(is_unknown(Cancelled([&] { return store_->checkpoints().Latest(log).status(); })));
  }
  standby_->Start();
  EXPECT_EQ(store_->checkpoints().Latest(kLedger)->size(), 1u);
}

// What the tests above are about: to libpq the same commit is a success.
TEST_F(StandbyAway, ClientThatReadsNoWarningsIsMisled) {
  EXPECT_TRUE(Cancelled([] {
                return primary_->Query("UPDATE dpledger.signer SET holder = 'x'").status();
              }).ok());
}

}  // namespace
}  // namespace dpledger
