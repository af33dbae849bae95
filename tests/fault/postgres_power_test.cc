// PostgreSQL on a disk whose power is cut: what the store acknowledged is there after PostgreSQL
// has recovered. DPLEDGER_FAULT_ROUNDS and DPLEDGER_FAULT_SEED: see power_rounds.h.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "ledger_store/postgres/postgres_store.h"
#include "tests/fault/fault_fs.h"
#include "tests/fault/power_rounds.h"
#include "tests/ledger_store/acknowledged_load.h"
#include "tests/ledger_store/postgres_server.h"
#include "tests/ledger_store/requests.h"

namespace dpledger::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::IsEmpty;

constexpr int kWriters = 4;

// A PostgreSQL whose data lies on a FaultFs; its socket and its log do not.
class PoweredPostgres {
 public:
  PoweredPostgres() {
    server_.Stop();
    fs::create_directory(Path("disk"));
    fs::rename(Path("data"), Path("disk/data"));
    fs::create_symlink(Path("mount/data"), Path("data"));
  }
  ~PoweredPostgres() {
    if (server_.running()) server_.Kill();
  }

  absl::Status PowerOn() {
    auto disk = FaultFs::Mount(Path("disk"), Path("mount"));
    if (!disk.ok()) return disk.status();
    disk_ = *std::move(disk);
    server_.Start();
    return absl::OkStatus();
  }
  void PowerOff(Survival survival, uint64_t seed) {
    const absl::Status cut = disk_->Cut(survival, seed);
    EXPECT_TRUE(cut.ok()) << cut;
    server_.Kill();
    const absl::Status unmounted = disk_->Unmount();
    EXPECT_TRUE(unmounted.ok()) << unmounted;
    // After a real power cut no process has the number that is written there.
    fs::remove(Path("disk/data/postmaster.pid"));
  }
  FaultFs& disk() { return *disk_; }
  PostgresServer& server() { return server_; }

 private:
  std::string Path(const std::string& name) const {
    return absl::StrCat(server_.folder(), "/", name);
  }

  PostgresServer server_;
  std::unique_ptr<FaultFs> disk_;
};

std::unique_ptr<LedgerStore> Open(const PostgresServer& server) {
  PostgresOptions options;
  options.connection = server.Connection();
  auto store = OpenPostgresStore(options);
  EXPECT_TRUE(store.ok()) << store.status();
  return store.ok() ? *std::move(store) : nullptr;
}

class PostgresPower : public ::testing::Test {
 protected:
  void SetUp() override {
    const absl::Status status = postgres_.PowerOn();
    if (absl::IsUnavailable(status)) GTEST_SKIP() << status;
    ASSERT_TRUE(status.ok()) << status;
  }

  // Writers on a ledger of their own until the power goes; then what is wrong with it.
  std::vector<std::string> LoadThroughCut(const std::string& ledger, const FaultRule& rule,
                                          size_t batches) {
    Acknowledged acknowledged;
    {
      const auto store = Open(postgres_.server());
      EXPECT_TRUE(store->Create(CreateRequest(ledger)).ok());
      EXPECT_TRUE(rule.op.empty() || postgres_.disk().Fail(rule).ok());
      AcknowledgedLoad load({store.get()}, ledger, kWriters);
      while (load.count() < batches && store->Get(ledger).ok()) {
        absl::SleepFor(absl::Milliseconds(2));
      }
      const auto counts = postgres_.disk().Counts();
      if (counts.ok() && counts->count("struck") > 0) ++struck_;
      postgres_.PowerOff(rule.survival, rule.seed);
      load.Stop();
      acknowledged = load.acknowledged();
    }
    acknowledged_ += acknowledged.size();
    EXPECT_TRUE(postgres_.PowerOn().ok());
    const auto store = Open(postgres_.server());
    const auto end = store->Get(ledger);
    if (!end.ok()) return {end.status().ToString()};
    return WrongWith(ReadAll(*store, ledger), end->root_hash(), acknowledged);
  }

  PoweredPostgres postgres_;
  int struck_ = 0;
  size_t acknowledged_ = 0;
};

TEST_F(PostgresPower, CutLosesNothingThatWasAcknowledged) {
  const uint64_t seed = FaultSeed();
  std::mt19937_64 random(seed);
  const int rounds = FaultRounds(5);
  for (int round = 0; round < rounds && !HasFailure(); ++round) {
    SCOPED_TRACE(absl::StrCat("round ", round, " of DPLEDGER_FAULT_SEED=", seed));
    constexpr Survival kSurvivals[] = {Survival::kNothing, Survival::kTorn,
                                       Survival::kTornWithHoles};
    const FaultRule rule = {.op = "any",
                            .nth = 1 + random() % 300,
                            .cut = true,
                            .survival = kSurvivals[random() % 3],
                            .seed = random()};
    EXPECT_THAT(LoadThroughCut(absl::StrCat("projects/p/ledgers/", round), rule, 400), IsEmpty());
  }
  std::cout << rounds << " cuts, " << struck_ << " of them by the rule, " << acknowledged_
            << " batches acknowledged\n";
}

// The control: a disk that acknowledges fsync and does nothing.
TEST_F(PostgresPower, CutLosesAcknowledgedBatchesOnADiskThatIgnoresSync) {
  {
    const auto store = Open(postgres_.server());
    ASSERT_TRUE(store->Create(CreateRequest(kLedger)).ok());
  }
  ASSERT_TRUE(postgres_.disk().IgnoreSync(true).ok());
  Acknowledged acknowledged;
  {
    const auto store = Open(postgres_.server());
    AcknowledgedLoad load({store.get()}, kLedger, kWriters);
    load.Await(50);
    postgres_.PowerOff(Survival::kNothing, 0);
    load.Stop();
    acknowledged = load.acknowledged();
  }
  ASSERT_TRUE(postgres_.PowerOn().ok());
  const auto store = Open(postgres_.server());
  const auto end = store->Get(kLedger);
  ASSERT_TRUE(end.ok()) << end.status();
  const std::vector<std::string> wrong =
      WrongWith(ReadAll(*store, kLedger), end->root_hash(), acknowledged);
  EXPECT_GT(wrong.size(), 0u);
  std::cout << wrong.size() << " complaints about " << acknowledged.size() << " batches\n";
}

}  // namespace
}  // namespace dpledger::testing
