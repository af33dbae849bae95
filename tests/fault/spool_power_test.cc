// The trainer's machine loses power, and its server lives or not: what was released is in the
// ledger, or in what the disk kept of the spool, and the run goes on. DPLEDGER_FAULT_ROUNDS and
// DPLEDGER_FAULT_SEED: see power_rounds.h.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iostream>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/fault/fault_fs.h"
#include "tests/fault/power_rounds.h"
#include "tests/fault/rig.h"

namespace dpledger::testing {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kLedger[] = "projects/default/ledgers/run";
constexpr uint64_t kEndless = std::numeric_limits<uint64_t>::max();

// A trainer whose spool lies on a disk of its own.
class PoweredTrainer {
 public:
  explicit PoweredTrainer(v1::SpoolPolicy policy)
      : policy_(policy), trainer_(server_.address(), kLedger, "trainer", policy) {
    trainer_.KeepSpoolIn(folder_.File("mount") + "/spool");
  }

  absl::Status PowerOn() {
    auto disk = FaultFs::Mount(folder_.File("disk"), folder_.File("mount"));
    if (disk.ok()) disk_ = *std::move(disk);
    return disk.status();
  }

  // Trains until `rule` cuts the power, and switches it on again.
  void TrainThroughCut(const FaultRule& rule, bool server_dies) {
    trainer_.Start(kEndless);
    ASSERT_TRUE(trainer_.AwaitReleases(trainer_.Released().size(), 1)) << trainer_.Log();
    if (server_dies) server_.Kill();
    ASSERT_TRUE(disk_->Fail(rule).ok());
    const absl::Time late = absl::Now() + absl::Seconds(20);
    while (Struck() == 0 && absl::Now() < late) absl::SleepFor(absl::Milliseconds(2));
    PowerOff(rule.survival, rule.seed);
    if (server_dies) server_.Start();
    ASSERT_TRUE(PowerOn().ok());
  }

  // Not while it runs.
  std::vector<std::string> Complaints() {
    std::vector<std::string> complaints;
    Rounds recorded = LedgerRounds(ReadLedger(server_.address(), kLedger), "trainer", complaints);
    if (policy_ == v1::SPOOL) recorded.merge(trainer_.Spooled());
    for (std::string& complaint : Unrecorded(trainer_.Released(), recorded)) {
      complaints.push_back(std::move(complaint));
    }
    return complaints;
  }

  // The run ends as it should, and everything is in the ledger.
  void End() {
    trainer_.Start(3);
    ASSERT_EQ(trainer_.Await(), 0) << trainer_.Log();
    std::vector<std::string> complaints;
    const Rounds recorded =
        LedgerRounds(ReadLedger(server_.address(), kLedger), "trainer", complaints);
    EXPECT_THAT(complaints, IsEmpty());
    EXPECT_THAT(Unrecorded(trainer_.Released(), recorded), IsEmpty());
    std::cout << trainer_.Released().size() << " rounds released, " << recorded.size()
              << " recorded\n";
    PowerOff(Survival::kNothing, 0);
  }

  // A disk that says that it synced, and did not.
  void TrainOnALyingDisk() {
    trainer_.Start(kEndless);
    ASSERT_TRUE(trainer_.AwaitReleases(0, 1)) << trainer_.Log();
    server_.Kill();
    ASSERT_TRUE(disk_->IgnoreSync(true).ok());
    ASSERT_TRUE(trainer_.AwaitReleases(trainer_.Released().size(), 20)) << trainer_.Log();
    PowerOff(Survival::kNothing, 0);
    server_.Start();
    ASSERT_TRUE(PowerOn().ok());
  }

 private:
  uint64_t Struck() {
    const auto counts = disk_->Counts();
    EXPECT_TRUE(counts.ok()) << counts.status();
    return counts.ok() && counts->count("struck") > 0 ? counts->at("struck") : 0;
  }

  void PowerOff(Survival survival, uint64_t seed) {
    if (disk_ == nullptr) return;
    EXPECT_TRUE(disk_->Cut(survival, seed).ok());
    if (trainer_.Runs()) trainer_.Crash();
    EXPECT_TRUE(disk_->Unmount().ok());
    disk_.reset();
  }

  const v1::SpoolPolicy policy_;
  TemporaryFolder folder_;
  CrashingServer server_;
  std::unique_ptr<FaultFs> disk_;
  Trainer trainer_;
};

class SpoolPower : public ::testing::Test {
 protected:
  static bool CanMount(PoweredTrainer& trainer) {
    const absl::Status status = trainer.PowerOn();
    if (status.ok()) return true;
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    return false;
  }

  static void Cut(v1::SpoolPolicy policy, const std::vector<Survival>& survivals) {
    PoweredTrainer trainer(policy);
    if (!CanMount(trainer)) GTEST_SKIP();
    std::mt19937_64 random(FaultSeed());
    const int rounds = FaultRounds(6);
    for (int round = 0; round < rounds; ++round) {
      SCOPED_TRACE(absl::StrCat("cut ", round));
      const FaultRule rule = {.op = "any",
                              .nth = 1 + random() % 60,
                              .cut = true,
                              .survival = survivals[random() % survivals.size()],
                              .seed = random()};
      // FAIL_CLOSED comes to no further call without a server.
      const bool server_dies = policy == v1::SPOOL && random() % 2 == 0;
      ASSERT_NO_FATAL_FAILURE(trainer.TrainThroughCut(rule, server_dies));
      ASSERT_THAT(trainer.Complaints(), IsEmpty());
    }
    trainer.End();
  }
};

TEST_F(SpoolPower, CutUnderSpoolLosesNothingThatWasReleased) {
  Cut(v1::SPOOL, {Survival::kNothing, Survival::kTorn});
}

// Nothing is synced, so anything may be missing; the server has what was released.
TEST_F(SpoolPower, CutUnderFailClosedLosesNothingAndOpensAgain) {
  Cut(v1::FAIL_CLOSED, {Survival::kNothing, Survival::kTorn, Survival::kTornWithHoles});
}

// The control.
TEST_F(SpoolPower, CutLosesReleasesOnADiskThatIgnoresSync) {
  PoweredTrainer trainer(v1::SPOOL);
  if (!CanMount(trainer)) GTEST_SKIP();
  ASSERT_NO_FATAL_FAILURE(trainer.TrainOnALyingDisk());
  EXPECT_THAT(trainer.Complaints(), Not(IsEmpty()));
}

}  // namespace
}  // namespace dpledger::testing
