// Two servers on one PostgreSQL share an operation.
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "ledger_store/postgres/postgres_store.h"
#include "tests/ledger_store/postgres_server.h"
#include "tests/server/recompute_cases.h"

namespace dpledger::server {
namespace {

constexpr int kLedgers = 230;
const std::string kAll = "request_id: 'a' parent: 'projects/p'";

class SharedRecompute : public ::testing::Test {
 protected:
  SharedRecompute() {
    for (std::unique_ptr<LedgerStore>* store : {&one_, &two_}) {
      PostgresOptions options;
      options.connection = database_.Connection();
      *store = Must(OpenPostgresStore(options));
    }
    MakeLedgers(*one_, kLedgers);
  }
  RecomputeOptions Shared() {
    RecomputeOptions options;
    options.shared_store = true;
    options.threads = 1;
    return options;
  }

  PostgresServer database_;
  std::unique_ptr<LedgerStore> one_, two_;
};

TEST_F(SharedRecompute, TwoServersDoItTogetherAndRecordEachLedgerOnce) {
  absl::Mutex mutex;
  std::map<std::string, std::set<int>> asked;  // by ledger: the servers
  std::set<int> working;
  const auto server = [&](int number) {
    RecomputeOptions options = Shared();
    options.said_before = [&, number](const std::string& ledger,
                                      double) -> absl::StatusOr<std::optional<v1::LedgerSummary>> {
      absl::MutexLock lock(&mutex);
      asked[ledger].insert(number);
      working.insert(number);
      // Neither goes on alone before the other has begun.
      const auto both = [&] { return working.size() == 2; };
      mutex.AwaitWithTimeout(absl::Condition(&both), absl::Seconds(20));
      return std::optional<v1::LedgerSummary>();
    };
    return options;
  };
  Recomputer one(one_.get(), server(1)), two(two_.get(), server(2));
  one.service.Start();
  two.service.Start();
  const std::string name = one.Begin(kAll).name();
  const v1::Operation operation = two.AwaitEnd(name);
  EXPECT_EQ(operation.state(), v1::Operation::DONE);
  EXPECT_EQ(operation.done(), kLedgers);
  EXPECT_EQ(one.AwaitEnd(name).SerializeAsString(), operation.SerializeAsString());
  ExpectEachOnce(*one_, operation, kLedgers);
  EXPECT_EQ(working.size(), 2);
  for (const auto& [ledger, servers] : asked) EXPECT_EQ(servers.size(), 1) << ledger;
}

TEST_F(SharedRecompute, WhatADeadServerHasClaimedIsDoneWhenItsLeaseIsOver) {
  absl::Notification claimed, release;
  RecomputeOptions dying = Shared();
  dying.lease = absl::Seconds(2);
  dying.said_before = [&](const std::string&,
                          double) -> absl::StatusOr<std::optional<v1::LedgerSummary>> {
    if (!claimed.HasBeenNotified()) claimed.Notify();
    release.WaitForNotification();
    return std::optional<v1::LedgerSummary>();
  };
  Recomputer one(one_.get(), dying), two(two_.get(), Shared());
  one.service.Start();
  const std::string name = one.Begin(kAll).name();
  claimed.WaitForNotification();
  two.service.Start();
  const v1::Operation operation = two.AwaitEnd(name);
  EXPECT_EQ(operation.done(), kLedgers);
  // It was not dead after all: what it brings now is not recorded again.
  release.Notify();
  one.service.Stop();
  ExpectEachOnce(*one_, operation, kLedgers);
}

// Both compute everything, because their leases are over at once.
TEST_F(SharedRecompute, NothingIsRecordedTwiceThoughItIsComputedTwice) {
  RecomputeOptions hasty = Shared();
  hasty.lease = absl::ZeroDuration();
  Recomputer one(one_.get(), hasty), two(two_.get(), hasty);
  one.service.Start();
  two.service.Start();
  const v1::Operation operation = one.AwaitEnd(two.Begin(kAll).name());
  EXPECT_EQ(operation.state(), v1::Operation::DONE);
  EXPECT_EQ(operation.done(), kLedgers);
  ExpectEachOnce(*two_, operation, kLedgers);
}

TEST_F(SharedRecompute, OneRequestToBothIsOneOperation) {
  Recomputer one(one_.get(), Shared()), two(two_.get(), Shared());
  std::string first, second;
  std::thread other([&] { second = two.Begin(kAll).SerializeAsString(); });
  first = one.Begin(kAll).SerializeAsString();
  other.join();
  EXPECT_EQ(first, second);
}

}  // namespace
}  // namespace dpledger::server
