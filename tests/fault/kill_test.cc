// Servers and trainers killed at random moments: what was released is always recorded, nothing is
// lost or doubled, and an auditor finds checkpoints, proofs and ε to be those of the entries after
// every restart. DPLEDGER_FAULT_ROUNDS and DPLEDGER_FAULT_SEED: see power_rounds.h.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <iostream>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/fault/auditor.h"
#include "tests/fault/power_rounds.h"
#include "tests/fault/rig.h"

namespace dpledger::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kLedger[] = "projects/default/ledgers/run";
constexpr uint64_t kEndless = std::numeric_limits<uint64_t>::max();

// The complaints about a trainer that does not write at the moment: FAIL_CLOSED must have its
// releases in the ledger, SPOOL in the ledger or in its spool.
std::vector<std::string> Complaints(const CrashingServer& server, const Trainer& trainer,
                                    v1::SpoolPolicy policy) {
  // In this order: a release that comes after the first line is not asked for.
  const Rounds released = trainer.Released();
  Rounds recorded = policy == v1::SPOOL ? trainer.Spooled() : Rounds();
  std::vector<std::string> complaints;
  recorded.merge(
      LedgerRounds(ReadLedger(server.address(), trainer.ledger()), trainer.writer(), complaints));
  for (std::string& complaint : Unrecorded(released, recorded)) {
    complaints.push_back(std::move(complaint));
  }
  return complaints;
}

// One server and one trainer that are killed `kills` times in all.
class KilledRun {
 public:
  KilledRun(v1::SpoolPolicy policy, uint64_t seed)
      : policy_(policy), random_(seed), trainer_(server_.address(), kLedger, "trainer", policy) {}

  void Kills(int kills) {
    trainer_.Start(kEndless);
    for (int i = 0; i < kills && !::testing::Test::HasFailure(); ++i) {
      SCOPED_TRACE(absl::StrCat("kill ", i));
      ASSERT_TRUE(trainer_.AwaitReleases(trainer_.Released().size(), 1)) << trainer_.Log();
      Wait(20);
      switch (random_() % 3) {
        case 0:
          KillTrainer();
          break;
        case 1:
          KillServer();
          break;
        default:
          KillServerThenTrainer();
      }
    }
  }

  // The run ends as it should, and its ledger says what happened.
  void End() {
    ASSERT_TRUE(trainer_.AwaitReleases(trainer_.Released().size(), 1)) << trainer_.Log();
    ASSERT_EQ(trainer_.Finish(), 0) << trainer_.Log();
    Audit();
    const std::vector<v1::LedgerEntry> entries = ReadLedger(server_.address(), kLedger);
    EXPECT_EQ(auditor_.checkpoint_size(), entries.size());
    std::vector<std::string> complaints;
    const Rounds recorded = LedgerRounds(entries, "trainer", complaints);
    const Rounds released = trainer_.Released();
    EXPECT_THAT(complaints, IsEmpty());
    EXPECT_THAT(Unrecorded(released, recorded), IsEmpty());
    // A round that was recorded and not released was under way when the trainer was killed.
    EXPECT_LE(recorded.size(), released.size() + trainer_kills_);
    uint64_t opened = 0;  // the last process of the trainer counts its own entries
    for (const v1::LedgerEntry& entry : entries) {
      if (entry.has_opened()) opened = entry.sequence();
    }
    EXPECT_EQ(entries.back().writer_closed().entry_count(), entries.size() - opened);
    EXPECT_GE(EpsilonOfLedger(server_.address(), kLedger).upper,
              EpsilonOfRounds(server_.address(), released).lower);
    std::cout << released.size() << " rounds released, " << recorded.size() << " recorded, "
              << trainer_kills_ << " kills of the trainer, " << server_kills_ << " of the server, "
              << auditor_.audits() << " audits\n";
  }

 private:
  void Wait(int most_milliseconds) {
    absl::SleepFor(absl::Microseconds(random_() % (1000 * most_milliseconds)));
  }

  void Check() { EXPECT_THAT(Complaints(server_, trainer_, policy_), IsEmpty()); }
  // What the server serves now carries on what it served before.
  void Audit() { EXPECT_THAT(auditor_.Audit(server_.address()), IsEmpty()); }

  void KillTrainer() {
    // A running FAIL_CLOSED trainer can be checked too: a spool can be read only when it is left.
    if (policy_ == v1::FAIL_CLOSED) Check();
    trainer_.Kill();
    ++trainer_kills_;
    Check();
    trainer_.Start(kEndless);
  }

  void KillServer() {
    server_.Kill();
    ++server_kills_;
    Wait(50);
    server_.Start();
    Audit();
    if (policy_ == v1::FAIL_CLOSED) Check();
  }

  void KillServerThenTrainer() {
    server_.Kill();
    ++server_kills_;
    Wait(50);
    trainer_.Kill();
    ++trainer_kills_;
    server_.Start();
    Audit();
    Check();
    trainer_.Start(kEndless);
  }

  const v1::SpoolPolicy policy_;
  std::mt19937_64 random_;
  CrashingServer server_;
  Trainer trainer_;
  Auditor auditor_{kLedger};
  size_t trainer_kills_ = 0;
  size_t server_kills_ = 0;
};

// Kills so many times, on a new ledger now and then: every check reads all of it.
void KillTimes(v1::SpoolPolicy policy, int kills) {
  constexpr int kKillsOfALedger = 50;
  std::mt19937_64 random(FaultSeed());
  for (int left = kills; left > 0 && !::testing::Test::HasFailure(); left -= kKillsOfALedger) {
    KilledRun run(policy, random());
    run.Kills(std::min(left, kKillsOfALedger));
    if (!::testing::Test::HasFailure()) run.End();
  }
}

TEST(Kill, FailClosedNeverReleasesWhatTheLedgerDoesNotHold) {
  KillTimes(v1::FAIL_CLOSED, FaultRounds(30));
}

TEST(Kill, SpoolNeverReleasesWhatIsNeitherSpooledNorInTheLedger) {
  KillTimes(v1::SPOOL, FaultRounds(30));
}

// Five rounds in a ledger of its own, and SIGKILL at the worst moment of the last one: right after
// its release.
struct WorstMoment {
  WorstMoment(const CrashingServer& server, v1::SpoolPolicy policy, std::vector<std::string> extras)
      : trainer(server.address(), absl::StrCat(kLedger, "-", ++ledgers), "trainer", policy) {
    trainer.Start(5, extras);
    EXPECT_EQ(trainer.Await(), 128 + SIGKILL) << trainer.Log();
    complaints = Complaints(server, trainer, policy);
  }
  static inline int ledgers = 0;
  Trainer trainer;
  std::vector<std::string> complaints;
};

TEST(Kill, RightAfterAReleaseFindsItRecorded) {
  const CrashingServer server;
  for (const v1::SpoolPolicy policy : {v1::FAIL_CLOSED, v1::SPOOL}) {
    const WorstMoment moment(server, policy, {"die"});
    EXPECT_THAT(moment.trainer.Released(), SizeIs(5));
    EXPECT_THAT(moment.complaints, IsEmpty());
  }
}

// The last round is recorded and not released: it stays, once, and the run goes on after it.
TEST(Kill, InTheMiddleOfAStepKeepsItsRound) {
  CrashingServer server;
  for (const v1::SpoolPolicy policy : {v1::FAIL_CLOSED, v1::SPOOL}) {
    for (const bool server_too : {false, true}) {
      WorstMoment moment(server, policy, {"die-inside"});
      EXPECT_THAT(moment.complaints, IsEmpty());
      EXPECT_THAT(moment.trainer.Released(), SizeIs(4));
      if (server_too) {
        server.Kill();
        server.Start();
      }
      moment.trainer.Start(3);
      ASSERT_EQ(moment.trainer.Await(), 0) << moment.trainer.Log();
      const std::string& ledger = moment.trainer.ledger();
      std::vector<std::string> complaints;
      const Rounds recorded =
          LedgerRounds(ReadLedger(server.address(), ledger), "trainer", complaints);
      const Rounds released = moment.trainer.Released();
      EXPECT_THAT(complaints, IsEmpty());
      EXPECT_THAT(released, SizeIs(7));
      EXPECT_THAT(Unrecorded(released, recorded), IsEmpty());
      // Of the eight, number 4 had begun, with the noise of its step.
      EXPECT_THAT(recorded, SizeIs(8));
      EXPECT_EQ(released.count(4), 0u);
      EXPECT_EQ(recorded.at(4), NoiseOfStep(4));
      EXPECT_GT(EpsilonOfLedger(server.address(), ledger).lower,
                EpsilonOfRounds(server.address(), released).upper);
    }
  }
}

// The control: a trainer that releases before it records is noticed by the same checks.
TEST(Kill, NoticesATrainerThatReleasesTooEarly) {
  const CrashingServer server;
  for (const v1::SpoolPolicy policy : {v1::FAIL_CLOSED, v1::SPOOL}) {
    const WorstMoment moment(server, policy, {"broken", "die"});
    EXPECT_THAT(moment.complaints, ElementsAre("round 4 was released and is not recorded"));
    if (policy == v1::SPOOL) continue;  // what it has in its spool is not in the ledger yet
    EXPECT_LT(EpsilonOfLedger(server.address(), moment.trainer.ledger()).upper,
              EpsilonOfRounds(server.address(), moment.trainer.Released()).lower);
  }
}

// The control of the audits: a server that was set back, and one that then wrote another history,
// do start, since all their files agree; only who kept an older checkpoint sees it.
TEST(Kill, AuditNoticesAServerThatWasSetBack) {
  CrashingServer server;
  Auditor auditor(kLedger);
  const auto train = [&](const std::string& writer) {
    Trainer trainer(server.address(), kLedger, writer, v1::FAIL_CLOSED);
    trainer.Start(5);
    EXPECT_EQ(trainer.Await(), 0) << trainer.Log();
  };
  train("first");
  EXPECT_THAT(auditor.Audit(server.address()), IsEmpty());
  server.Kill();
  const TemporaryFolder copy;
  CopyFiles(server.files(), copy.File("files"));
  server.Start();
  train("second");
  EXPECT_THAT(auditor.Audit(server.address()), IsEmpty());
  server.Kill();
  CopyFiles(copy.File("files"), server.files());
  server.Start();
  EXPECT_THAT(auditor.Audit(server.address()), ElementsAre("the ledger has 13 entries and had 25"));
  train("third");
  EXPECT_THAT(auditor.Audit(server.address()), ElementsAre("entry 13 is not what it was"));
}

}  // namespace
}  // namespace dpledger::testing
