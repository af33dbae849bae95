// A primary that is killed, a standby that is promoted, and a standby that is away.
#include <gmock/gmock.h>
#include <libpq-fe.h>

#include <future>

#include "absl/strings/str_cat.h"
#include "ledger_store/postgres/postgres_store.h"
#include "tests/ledger_store/acknowledged_load.h"
#include "tests/ledger_store/postgres_server.h"
#include "tests/ledger_store/requests.h"

namespace dpledger {
namespace {

using absl::StatusCode;
using ::testing::IsEmpty;

std::unique_ptr<LedgerStore> Open(const std::vector<const PostgresServer*>& servers) {
  PostgresOptions options;
  options.connection = PostgresServer::Connection(servers);
  auto store = OpenPostgresStore(options);
  EXPECT_TRUE(store.ok()) << store.status();
  return *std::move(store);
}

// Kills the primary under load and promotes the standby; how many acknowledged requests are gone.
size_t LostByFailover(PostgresServer& primary, PostgresServer& standby, bool may_lose) {
  const auto first = Open({&primary, &standby});
  const auto second = Open({&primary, &standby});
  EXPECT_TRUE(first->Create(CreateRequest(kLedger)).ok());
  if (may_lose) {
    // The standby is no longer waited for, and gets nothing more.
    primary.Must("ALTER SYSTEM SET synchronous_standby_names = ''");
    primary.Must("SELECT pg_reload_conf()");
    standby.Must("ALTER SYSTEM SET primary_conninfo = ''");
    standby.Must("SELECT pg_reload_conf()");
    primary.Await("SELECT count(*) FROM pg_stat_replication", "0");
  }
  AcknowledgedLoad load({first.get(), second.get()}, kLedger, 8);
  load.Await(200);
  primary.Kill();
  const size_t before = load.count();
  standby.Promote();
  if (!may_lose) load.Await(before + 100);  // writes go on
  load.Stop(may_lose ? absl::ZeroDuration() : absl::Minutes(1));
  const Acknowledged acknowledged = load.acknowledged();
  const std::vector<std::string> entries = ReadAll(*first, kLedger);
  const std::vector<std::string> wrong =
      WrongWith(entries, first->Get(kLedger)->root_hash(), acknowledged);
  if (!may_lose) {
    EXPECT_THAT(load.surprises(), IsEmpty());
    EXPECT_THAT(wrong, IsEmpty());
    EXPECT_EQ(entries.size(), 1 + 2 * acknowledged.size());
  }
  return wrong.size();
}

TEST(PostgresFailover, LosesNothingThatWasAcknowledged) {
  PostgresServer primary;
  const auto standby = primary.MakeSynchronousStandby();
  EXPECT_EQ(LostByFailover(primary, *standby, /*may_lose=*/false), 0u);
}

TEST(PostgresFailover, LosesWithoutASynchronousStandby) {
  PostgresServer primary;
  const auto standby = primary.MakeSynchronousStandby();
  EXPECT_GT(LostByFailover(primary, *standby, /*may_lose=*/true), 0u);
}

class StandbyAway : public ::testing::Test {
 protected:
  void SetUp() override {
    standby_ = primary_.MakeSynchronousStandby();
    store_ = Open({&primary_, standby_.get()});
    ASSERT_TRUE(store_->Create(CreateRequest(kLedger)).ok());
    standby_->Kill();
  }
  // Waits until somebody waits for the standby, and cancels the wait, as an operator might.
  void CancelWait() {
    primary_.Await("SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'SyncRep'", "t");
    primary_.Must(
        "SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
  }

  PostgresServer primary_;
  std::unique_ptr<PostgresServer> standby_;
  std::unique_ptr<LedgerStore> store_;
};

TEST_F(StandbyAway, CancelledWaitIsNotAcknowledged) {
  const v1::AppendBatchRequest request = RoundBatch(kLedger, "w", "r1", 1);
  // Once when it is stored, and once when it is only found: the second time, too, nobody knows that
  // the standby has it.
  for (int i = 0; i < 2; ++i) {
    auto answer = std::async(std::launch::async, [&] { return store_->Append(request).status(); });
    CancelWait();
    EXPECT_TRUE(IsError(answer.get(), StatusCode::kUnavailable, "OUTCOME_UNKNOWN",
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

TEST_F(StandbyAway, CheckpointIsNotHandedOut) {
  Publication publication;
  publication.registry_entries = {"entry"};
  publication.logs.resize(2);
  publication.logs[0].log = kLedger;
  for (SignedLog& log : publication.logs) log.checkpoint.set_size(1);
  auto epoch = std::async(std::launch::async, [&] {
    return store_->checkpoints().AcquireLease("signer", absl::Hours(1)).status();
  });
  CancelWait();
  EXPECT_TRUE(IsError(epoch.get(), StatusCode::kUnavailable, "OUTCOME_UNKNOWN", "standby"));
  publication.lease_epoch = std::stoull(primary_.Must("SELECT epoch FROM dpledger.signer"));
  auto published =
      std::async(std::launch::async, [&] { return store_->checkpoints().Publish(publication); });
  CancelWait();
  EXPECT_TRUE(IsError(published.get(), StatusCode::kUnavailable, "OUTCOME_UNKNOWN", "standby"));
  EXPECT_EQ(primary_.Must("SELECT count(*) FROM dpledger.checkpoints"), "2");
  for (const std::string& log : {kLedger, std::string(kRegistryLog)}) {
    auto latest =
        std::async(std::launch::async, [&] { return store_->checkpoints().Latest(log).status(); });
    CancelWait();
    EXPECT_TRUE(IsError(latest.get(), StatusCode::kUnavailable, "OUTCOME_UNKNOWN", "standby"));
  }
  standby_->Start();
  EXPECT_EQ(store_->checkpoints().Latest(kLedger)->size(), 1u);
}

// Once it locked the heads of all ledgers that it signed, and so stopped their appends.
TEST_F(StandbyAway, PublicationThatWaitsLocksNoHead) {
  Publication publication;
  publication.registry_entries = {"entry"};
  publication.logs.resize(2);
  publication.logs[0].log = kLedger;
  for (SignedLog& log : publication.logs) log.checkpoint.set_size(1);
  auto epoch = std::async(std::launch::async, [&] {
    return store_->checkpoints().AcquireLease("signer", absl::Hours(1)).status();
  });
  CancelWait();
  EXPECT_TRUE(absl::IsUnavailable(epoch.get()));
  publication.lease_epoch = std::stoull(primary_.Must("SELECT epoch FROM dpledger.signer"));
  auto published =
      std::async(std::launch::async, [&] { return store_->checkpoints().Publish(publication); });
  primary_.Await("SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'SyncRep'", "t");
  EXPECT_EQ(primary_.Must("SET synchronous_commit = off;"
                          "SELECT name FROM dpledger.ledgers FOR UPDATE NOWAIT"),
            kLedger);
  // The control: what it does lock.
  EXPECT_FALSE(primary_.Query("SELECT id FROM dpledger.signer FOR UPDATE NOWAIT").ok());
  CancelWait();
  EXPECT_TRUE(absl::IsUnavailable(published.get()));
}

// What the tests above are about: to libpq the same commit is a success.
TEST_F(StandbyAway, ClientThatReadsNoWarningsIsMisled) {
  auto committed = std::async(std::launch::async, [&] {
    return primary_.Query("UPDATE dpledger.signer SET holder = 'x'").status();
  });
  CancelWait();
  EXPECT_TRUE(committed.get().ok());
}

}  // namespace
}  // namespace dpledger
