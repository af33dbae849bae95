// Many trainers at once, with the server killed under them: every ledger is dense, ordered and
// whole.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/fault/rig.h"

namespace dpledger::testing {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr uint64_t kRounds = 60;

// All trainers run their rounds to the end; the server is killed twice meanwhile.
void TrainAll(CrashingServer& server, std::deque<Trainer>& trainers) {
  for (Trainer& trainer : trainers) trainer.Start(kRounds);
  for (const size_t kill_after : {10, 30}) {
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
  uint64_t own = 0, closing_count = 0;
  for (const v1::LedgerEntry& entry : entries) {
    if (entry.writer() != trainer.writer()) continue;
    ++own;
    closing_count = entry.writer_closed().entry_count();
  }
  EXPECT_EQ(own, 2 * kRounds + 1);
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
    EXPECT_EQ(entries.size(), 2 * kRounds + 2);
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
  EXPECT_EQ(entries.size(), 4 * (2 * kRounds + 1) + 1);
  for (const Trainer& trainer : trainers) ExpectWhole(entries, trainer);
}

}  // namespace
}  // namespace dpledger::testing
