// PostgreSQL primaries killed under the load of several servers, with a synchronous standby that is
// promoted: nothing that was acknowledged is lost, nothing is there twice, writes go on, and no two
// checkpoints contradict each other. DPLEDGER_FAULT_ROUNDS: how many failovers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "ledger_store/postgres/postgres_store.h"
#include "tests/fault/observed_notaries.h"
#include "tests/fault/power_rounds.h"
#include "tests/ledger_store/acknowledged_load.h"
#include "tests/ledger_store/postgres_server.h"
#include "tests/ledger_store/requests.h"

namespace dpledger::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kServers = 3;
constexpr int kWriters = 6;

std::unique_ptr<LedgerStore> Open(const std::vector<const PostgresServer*>& servers) {
  PostgresOptions options;
  options.connection = PostgresServer::Connection(servers);
  auto store = OpenPostgresStore(options);
  EXPECT_TRUE(store.ok()) << store.status();
  return *std::move(store);
}

struct Failover {
  std::vector<std::string> wrong;  // with the ledger, and with what was signed of it
  size_t acknowledged = 0;
  size_t checkpoints = 0;
  absl::Duration resumed;  // from the kill to the next acknowledgement
};

// How the primary ends. kAhead: killed, and nobody had waited for the standby, which had got
// nothing more: the control. kFrozen: its connections stay, and nothing answers on them.
enum class End { kKilled, kFrozen, kAhead };

// Servers write and sign one ledger of their own; after `before` acknowledgements the primary ends.
Failover FailOver(PostgresServer& primary, PostgresServer& standby, const std::string& ledger,
                  size_t before, End how) {
  const bool behind = how == End::kAhead;
  std::vector<std::unique_ptr<LedgerStore>> stores;
  std::vector<LedgerStore*> pointers;
  for (int i = 0; i < kServers; ++i) {
    stores.push_back(Open({&primary, &standby}));
    pointers.push_back(stores.back().get());
  }
  EXPECT_TRUE(stores[0]->Create(CreateRequest(ledger)).ok());
  if (behind) {
    primary.Must("ALTER SYSTEM SET synchronous_standby_names = ''");
    primary.Must("SELECT pg_reload_conf()");
    standby.Must("ALTER SYSTEM SET primary_conninfo = ''");
    standby.Must("SELECT pg_reload_conf()");
    primary.Await("SELECT count(*) FROM pg_stat_replication", "0");
  }
  ObservedNotaries notaries(pointers, ledger);
  AcknowledgedLoad load(pointers, ledger, kWriters);
  notaries.Await(2);
  load.Await(before);
  if (how == End::kFrozen) {
    primary.Freeze();
  } else {
    primary.Kill();
  }
  const absl::Time killed = absl::Now();
  const size_t at_kill = load.count();
  standby.Promote();
  Failover failover;
  if (!behind) {
    load.Await(at_kill + 1);
    failover.resumed = absl::Now() - killed;
    load.Await(at_kill + 20);
  }
  load.Stop(behind ? absl::ZeroDuration() : absl::Minutes(1));
  notaries.Stop();
  failover.wrong = load.surprises();
  // A server that acknowledged what is gone says so, and no other one does.
  const absl::Status own = stores[0]->Get(ledger).status();
  EXPECT_EQ(ReasonOf(own).reason, behind ? "DATABASE_WENT_BACK" : "") << own;
  EXPECT_EQ(stores[0]->Healthy(), !behind);
  // As one that was started again, which has acknowledged nothing.
  const std::unique_ptr<LedgerStore> again = Open({&primary, &standby});
  const auto end = again->Get(ledger);
  EXPECT_TRUE(end.ok()) << end.status();
  const std::vector<std::string> entries = ReadAll(*again, ledger);
  for (std::string& wrong : WrongWith(entries, end->root_hash(), load.acknowledged())) {
    failover.wrong.push_back(std::move(wrong));
  }
  if (!behind && entries.size() != 1 + 2 * load.acknowledged().size()) {
    failover.wrong.push_back(absl::StrCat(entries.size(), " entries are not what was answered"));
  }
  for (std::string& wrong : notaries.WrongWith(*again)) {
    failover.wrong.push_back(std::move(wrong));
  }
  failover.acknowledged = load.acknowledged().size();
  failover.checkpoints = notaries.seen();
  return failover;
}

// The standby of one failover is the primary of the next.
TEST(Failover, LosesDoublesAndContradictsNothing) {
  std::mt19937_64 random(FaultSeed());
  const int rounds = FaultRounds(4);
  auto primary = std::make_unique<PostgresServer>();
  std::map<End, std::vector<absl::Duration>> resumed;
  size_t acknowledged = 0, checkpoints = 0;
  for (int round = 0; round < rounds && !HasFailure(); ++round) {
    SCOPED_TRACE(absl::StrCat("failover ", round));
    std::unique_ptr<PostgresServer> standby = primary->MakeSynchronousStandby();
    const End how = round % 2 == 0 ? End::kKilled : End::kFrozen;
    const Failover failover = FailOver(
        *primary, *standby, absl::StrCat("projects/p/ledgers/", round), 20 + random() % 200, how);
    EXPECT_THAT(failover.wrong, IsEmpty());
    acknowledged += failover.acknowledged;
    checkpoints += failover.checkpoints;
    resumed[how].push_back(failover.resumed);
    primary = std::move(standby);
  }
  std::cout << rounds << " failovers, " << acknowledged << " batches acknowledged, " << checkpoints
            << " checkpoints seen\n";
  for (auto& [how, times] : resumed) {
    std::sort(times.begin(), times.end());
    std::cout << (how == End::kFrozen ? "frozen" : "killed") << ": writes resumed after "
              << absl::FormatDuration(times.front()) << " to " << absl::FormatDuration(times.back())
              << "\n";
  }
}

// The control: a standby that is behind, and is promoted all the same.
TEST(Failover, NoticesWhatAnAsynchronousStandbyLoses) {
  PostgresServer primary;
  const auto standby = primary.MakeSynchronousStandby();
  const Failover failover = FailOver(primary, *standby, kLedger, 50, End::kAhead);
  EXPECT_THAT(failover.wrong, Contains(HasSubstr("was acknowledged and is not there")));
  EXPECT_THAT(failover.wrong, Contains(HasSubstr("were signed")));
  std::cout << failover.wrong.size() << " complaints about " << failover.acknowledged
            << " batches\n";
}

}  // namespace
}  // namespace dpledger::testing
