// The network between two hosts breaks and comes back: what a FAIL_CLOSED trainer releases
// meanwhile was in the ledger before, and in the end everything is there once.
// DPLEDGER_FAULT_ROUNDS: how many breaks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "ledger_store/postgres/postgres_store.h"
#include "tests/cli/process.h"
#include "tests/fault/auditor.h"
#include "tests/fault/network_pair.h"
#include "tests/fault/power_rounds.h"
#include "tests/fault/rig.h"
#include "tests/ledger_store/acknowledged_load.h"
#include "tests/ledger_store/postgres_server.h"

namespace dpledger::testing {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kLedger[] = "projects/default/ledgers/run";
constexpr uint64_t kEndless = std::numeric_limits<uint64_t>::max();
using ReadEntries = std::function<std::vector<v1::LedgerEntry>()>;

class Network : public ::testing::Test {
 protected:
  // Once, before any other thread is there: the near host is this thread and what comes from it.
  static void SetUpTestSuite() {
    auto pair = NetworkPair::Make();
    if (pair.ok()) {
      cable_ = std::move(*pair).release();
    } else {
      reason_ = new absl::Status(pair.status());
    }
  }
  static void TearDownTestSuite() {
    delete cable_;
    delete reason_;
  }
  void SetUp() override {
    if (cable_ != nullptr) return;
    if (absl::IsUnavailable(*reason_)) GTEST_SKIP() << *reason_;
    FAIL() << *reason_;
  }

  // Breaks the network for a while; what was released meanwhile and should not have been.
  static std::vector<std::string> ReleasedMeanwhile(const Trainer& trainer, const ReadEntries& read,
                                                    NetworkPair::Cut cut, absl::Duration length) {
    cable_->Break(cut);
    std::vector<std::string> complaints;
    Rounds recorded = LedgerRounds(read(), trainer.writer(), complaints);
    const size_t before = recorded.size();
    absl::SleepFor(length);
    const Rounds released = trainer.Released();
    // Where only what the far host sends is lost, the last request before the break may be stored
    // after the first look, and its answer arrives. Otherwise no answer does.
    if (cut == NetworkPair::Cut::kToNearLost) {
      complaints.clear();
      recorded = LedgerRounds(read(), trainer.writer(), complaints);
      if (released.size() > before + 1) complaints.emplace_back("releases went on");
    }
    cable_->Mend(cut);
    for (std::string& complaint : Unrecorded(released, recorded)) {
      complaints.push_back(std::move(complaint));
    }
    return complaints;
  }

  // Breaks it again and again, under a trainer that is `started`; then the ledger must be whole.
  static void BreakOften(Trainer& trainer, const ReadEntries& read, int breaks) {
    std::mt19937_64 random(FaultSeed());
    trainer.Start(kEndless);
    for (int i = 0; i < breaks && !HasFailure(); ++i) {
      SCOPED_TRACE(absl::StrCat("break ", i));
      ASSERT_TRUE(trainer.AwaitReleases(trainer.Released().size(), 1)) << trainer.Log();
      absl::SleepFor(absl::Microseconds(random() % 20'000));
      const auto cut = static_cast<NetworkPair::Cut>(random() % 3);
      EXPECT_THAT(ReleasedMeanwhile(trainer, read, cut, absl::Microseconds(random() % 500'000)),
                  IsEmpty());
    }
    ASSERT_TRUE(trainer.AwaitReleases(trainer.Released().size(), 1)) << trainer.Log();
    ASSERT_EQ(trainer.Finish(), 0) << trainer.Log();
    std::vector<std::string> complaints;
    const Rounds recorded = LedgerRounds(read(), trainer.writer(), complaints);
    EXPECT_THAT(complaints, IsEmpty());
    EXPECT_EQ(recorded, trainer.Released());
    std::cout << breaks << " breaks, " << recorded.size() << " rounds released\n";
  }

  static NetworkPair* cable_;
  static absl::Status* reason_;
};
NetworkPair* Network::cable_ = nullptr;
absl::Status* Network::reason_ = nullptr;

// A server on the near host, a trainer on the far one.
class TrainerAway : public Network {
 protected:
  void SetUp() override {
    Network::SetUp();
    if (IsSkipped() || HasFailure()) return;
    server_ = std::make_unique<CrashingServer>(CrashingServer::Options{
        .flags = {"--insecure-listen-anywhere"}, .host = NetworkPair::kNear});
    trainer_ = std::make_unique<Trainer>(server_->address(), kLedger, "trainer", v1::FAIL_CLOSED,
                                         cable_->OnFar());
  }
  std::vector<v1::LedgerEntry> Read() { return ReadLedger(server_->address(), kLedger); }

  std::unique_ptr<CrashingServer> server_;
  std::unique_ptr<Trainer> trainer_;
};

TEST_F(TrainerAway, ReleasesNothingMeanwhileAndLosesNothing) {
  ASSERT_NO_FATAL_FAILURE(BreakOften(
      *trainer_, [this] { return Read(); }, FaultRounds(5)));
  EXPECT_THAT(Auditor(kLedger).Audit(server_->address()), IsEmpty());
}

// The control: a trainer that releases before it records.
TEST_F(TrainerAway, NoticesATrainerThatReleasesMeanwhile) {
  trainer_->Start(kEndless, {"broken"});
  std::vector<std::string> complaints;
  // Where the break finds a round recorded and not yet acknowledged, nothing shows: so, often.
  for (int i = 0; i < 20 && complaints.empty(); ++i) {
    ASSERT_TRUE(trainer_->AwaitReleases(trainer_->Released().size(), 2)) << trainer_->Log();
    complaints = ReleasedMeanwhile(
        *trainer_, [this] { return Read(); }, NetworkPair::Cut::kPulled, absl::Milliseconds(50));
  }
  EXPECT_THAT(complaints, Not(IsEmpty()));
}

// The control of the network: where it does not break, releases go on.
TEST_F(TrainerAway, ReleasesWhileTheNetworkIsWhole) {
  trainer_->Start(kEndless);
  ASSERT_TRUE(trainer_->AwaitReleases(0, 1)) << trainer_->Log();
  std::vector<std::string> complaints;
  const Rounds before = LedgerRounds(Read(), "trainer", complaints);
  ASSERT_TRUE(trainer_->AwaitReleases(before.size(), 2)) << trainer_->Log();
  EXPECT_THAT(Unrecorded(trainer_->Released(), before), Not(IsEmpty()));
}

// Rounds in the ledger, in time or late.
size_t CountRounds(const std::vector<v1::LedgerEntry>& entries) {
  return static_cast<size_t>(std::count_if(entries.begin(), entries.end(), [](const auto& entry) {
    return entry.event().has_sampling() || entry.late_event().event().has_sampling();
  }));
}

// A spool folder is copied to another machine, and both go on: whatever either has released is in
// the ledger, or the ledger says that it may be short.
TEST_F(TrainerAway, ACopiedSpoolIsNeverSilentlyShort) {
  const TemporaryFolder folder;
  Trainer near(server_->address(), kLedger, "copied", v1::SPOOL);
  near.KeepSpoolIn(folder.File("near"));
  near.Start(kEndless);
  ASSERT_TRUE(near.AwaitReleases(0, 3)) << near.Log();
  near.Kill();
  std::filesystem::copy(folder.File("near"), folder.File("far"),
                        std::filesystem::copy_options::recursive);
  Trainer far(server_->address(), kLedger, "copied", v1::SPOOL, cable_->OnFar());
  far.KeepSpoolIn(folder.File("far"));
  near.Start(kEndless);
  ASSERT_TRUE(near.AwaitReleases(near.Released().size(), 1)) << near.Log();
  far.Start(kEndless);  // the newer one: it fences off the one on the near host
  ASSERT_TRUE(far.AwaitReleases(0, 3)) << far.Log();
  EXPECT_NE(near.Await(), 0);
  EXPECT_NE(near.Log().find("dpledger spool import"), std::string::npos) << near.Log();
  ASSERT_EQ(far.Finish(), 0) << far.Log();

  const size_t released = near.Released().size() + far.Released().size();
  const auto ask = [&] {
    return Dpledger(
        {"epsilon", "--server", server_->address(), "--ledger", "run", "--delta", "1e-5"});
  };
  const RunResult before = ask();
  ASSERT_EQ(before.exit_code, 0) << before.err;
  EXPECT_NE(before.out.find("may be short"), std::string::npos) << before.out;
  const RunResult imported =
      Dpledger({"spool", "import", folder.File("near"), "--server", server_->address()});
  ASSERT_EQ(imported.exit_code, 0) << imported.err;
  EXPECT_GE(CountRounds(Read()), released) << imported.out;
  const RunResult after = ask();
  EXPECT_EQ(after.out.find("may be short"), std::string::npos) << after.out;
}

// PostgreSQL on the near host, a server and its trainer on the far one.
TEST_F(Network, BetweenServerAndPostgresLosesNothing) {
  PostgresServer postgres;
  postgres.Must(absl::StrCat("ALTER SYSTEM SET listen_addresses = '", NetworkPair::kNear, "'"));
  std::ofstream(postgres.folder() + "/data/pg_hba.conf", std::ios::app)
      << "host all all 10.77.0.0/24 trust\n";
  postgres.Stop();
  postgres.Start();
  const TemporaryFolder folder;
  const std::string connection = folder.Write(
      "postgres", absl::StrCat("host=", NetworkPair::kNear, " user=postgres dbname=postgres"));
  chmod(connection.c_str(), 0600);
  CrashingServer server({.flags = {"--postgres", connection, "--signing-key", folder.File("key")},
                         .prefix = cable_->OnFar()});
  Trainer trainer(server.address(), kLedger, "trainer", v1::FAIL_CLOSED, cable_->OnFar());
  PostgresOptions options;
  options.connection = postgres.Connection();  // by its socket, whatever the network does
  const auto store = OpenPostgresStore(options);
  ASSERT_TRUE(store.ok()) << store.status();
  const ReadEntries read = [&] {
    std::vector<v1::LedgerEntry> entries;
    for (const std::string& bytes : ReadAll(**store, kLedger)) {
      EXPECT_TRUE(entries.emplace_back().ParseFromString(bytes));
      EXPECT_EQ(entries.back().sequence(), entries.size() - 1);
    }
    return entries;
  };
  ASSERT_NO_FATAL_FAILURE(BreakOften(trainer, read, FaultRounds(5)));
}

}  // namespace
}  // namespace dpledger::testing
