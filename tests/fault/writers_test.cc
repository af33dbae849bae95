// Many trainers at once, with the server killed under them: every ledger is dense, ordered and
// whole.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/fault/rig.h"

namespace dpledger::testing {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr uint64_t kRounds = 25;
constexpr uint64_t kEndless = std::numeric_limits<uint64_t>::max();

// All trainers run their rounds to the end; the server is killed twice meanwhile.
void TrainAll(CrashingServer& server, std::deque<Trainer>& trainers) {
  for (Trainer& trainer : trainers) trainer.Start(kRounds);
  for (const size_t kill_after : {5, 15}) {
    ASSERT_TRUE(trainers.front().AwaitReleases(0, kill_after)) << trainers.front().Log();
    server.Kill();
    server.Start();
  }
  for (Trainer& trainer : trainers) EXPECT_EQ(trainer.Await(), 0) << trainer.Log();
}

// Every round of the trainer once, with its noise, and WRITER_CLOSED with the right count.
void ExpectWhole(const std::vector<v1::LedgerEntry>& entries, const Trainer& trainer) {
  std::vector<std::string> complaints;
  const Rounds recorded = LedgerRounds(entries, trainer.writer(), complaints);
  EXPECT_THAT(complaints, IsEmpty());
  EXPECT_THAT(recorded, SizeIs(kRounds));
  EXPECT_EQ(recorded, trainer.Released());
  uint64_t own = 0, rounds = 0, closing_count = 0;
  for (const v1::LedgerEntry& entry : entries) {
    if (entry.writer() != trainer.writer()) continue;
    if (entry.has_opened()) own = 0;  // each incarnation counts its own
    ++own;
    rounds += entry.event().has_sampling() ? 1 : 0;
    closing_count = entry.writer_closed().entry_count();
  }
  EXPECT_EQ(rounds, kRounds);
  EXPECT_EQ(closing_count, own);
}

TEST(Writers, EightTrainersKeepTheirOwnLedgers) {
  CrashingServer server;
  std::deque<Trainer> trainers;
  for (int i = 0; i < 8; ++i) {
    trainers.emplace_back(server.address(), absl::StrCat("projects/default/ledgers/run", i),
                          "trainer", i % 2 == 0 ? v1::FAIL_CLOSED : v1::SPOOL);
  }
  TrainAll(server, trainers);
  for (const Trainer& trainer : trainers) {
    const auto entries = ReadLedger(server.address(), trainer.ledger());
    EXPECT_EQ(entries.size(), 2 * kRounds + 3);
    ExpectWhole(entries, trainer);
  }
}

TEST(Writers, FourWritersShareOneLedger) {
  CrashingServer server;
  std::deque<Trainer> trainers;
  for (int i = 0; i < 4; ++i) {
    trainers.emplace_back(server.address(), "projects/default/ledgers/shared",
                          absl::StrCat("writer", i), v1::FAIL_CLOSED);
  }
  TrainAll(server, trainers);
  const auto entries = ReadLedger(server.address(), "projects/default/ledgers/shared");
  EXPECT_EQ(entries.size(), 4 * (2 * kRounds + 2) + 1);
  for (const Trainer& trainer : trainers) ExpectWhole(entries, trainer);
}

// Two machines of one run, each with its own part of the people: both are killed, with the server
// or without it, and both go on.
TEST(Writers, TwoOfOneLedgerAreKilledAndResume) {
  constexpr char kShared[] = "projects/default/ledgers/shared";
  constexpr uint64_t kMore = 10;
  CrashingServer server;
  std::deque<Trainer> trainers;
  for (int i = 0; i < 2; ++i) {
    trainers.emplace_back(server.address(), kShared, absl::StrCat("writer", i), v1::FAIL_CLOSED);
  }
  for (const bool server_too : {false, true}) {
    for (Trainer& trainer : trainers) trainer.Start(kEndless);
    for (Trainer& trainer : trainers) {
      ASSERT_TRUE(trainer.AwaitReleases(trainer.Released().size(), 5)) << trainer.Log();
    }
    if (server_too) server.Kill();
    for (Trainer& trainer : trainers) trainer.Kill();
    if (server_too) server.Start();
  }
  for (Trainer& trainer : trainers) trainer.Start(kMore);
  for (Trainer& trainer : trainers) EXPECT_EQ(trainer.Await(), 0) << trainer.Log();

  const auto entries = ReadLedger(server.address(), kShared);
  Rounds all;  // of both, each under a number of its own
  for (const Trainer& trainer : trainers) {
    std::vector<std::string> complaints;
    const Rounds recorded = LedgerRounds(entries, trainer.writer(), complaints);
    const Rounds released = trainer.Released();
    EXPECT_THAT(complaints, IsEmpty());
    EXPECT_THAT(Unrecorded(released, recorded), IsEmpty());
    EXPECT_GE(released.size(), 2 * 5 + kMore);
    EXPECT_LE(recorded.size(), released.size() + 2);  // what was under way at a kill
    for (const auto& [round, noise] : recorded) all.emplace(all.size(), noise);
  }
  const EpsilonInterval counted = EpsilonOfLedger(server.address(), kShared);
  const EpsilonInterval expected = EpsilonOfRounds(server.address(), all);
  EXPECT_LE(counted.lower, expected.upper);
  EXPECT_GE(counted.upper, expected.lower);
  // Control: one round less is told apart.
  all.erase(all.begin());
  EXPECT_GT(counted.lower, EpsilonOfRounds(server.address(), all).upper);
}

}  // namespace
}  // namespace dpledger::testing
