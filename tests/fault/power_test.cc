// dpledger-server through power cuts and failing calls: every acknowledged entry is there when the
// power comes back, and the server starts without repair. DPLEDGER_FAULT_ROUNDS and
// DPLEDGER_FAULT_SEED: see power_rounds.h.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <iostream>
#include <memory>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/fault/power_rounds.h"
#include "tests/fault/power_server.h"

namespace dpledger::testing {
namespace {

using ::testing::HasSubstr;

constexpr int kBatches = 200;  // of each writer, unless the power goes before
constexpr int kRoundsOfAStore = 12;

class Power : public ::testing::Test {
 protected:
  void SetUp() override {
    const absl::Status status = server_->PowerOn();
    if (absl::IsUnavailable(status)) GTEST_SKIP() << status;
    ASSERT_TRUE(status.ok()) << status;
  }

  // The server works until `rule` strikes, which counts calls from before its start or from after
  // it, and the power is cut, then if not before. Starts it again; its status.
  absl::Status RunThroughFault(const FaultRule& rule, bool before_start, std::mt19937_64& random) {
    if (before_start) {
      EXPECT_TRUE(server_->disk().Fail(rule).ok());
    }
    const absl::Status started = server_->Start();
    if (!before_start) {
      EXPECT_TRUE(started.ok()) << started;
      EXPECT_TRUE(server_->disk().Fail(rule).ok());
    }
    if (started.ok()) {
      server_->Append(kBatches, random());
    } else {
      ++at_start_;
    }
    const auto counts = server_->disk().Counts();
    EXPECT_TRUE(counts.ok()) << counts.status();
    if (counts.ok() && counts->count("struck") > 0) ++struck_;
    server_->PowerOff(rule.survival, rule.seed);
    EXPECT_TRUE(server_->PowerOn().ok());
    return server_->Start();
  }

  // The same store goes on, through kRoundsOfAStore rounds: every round reads all of it.
  void GoOn(int round) {
    server_->PowerOff(Survival::kNothing, 0);
    if (round % kRoundsOfAStore == kRoundsOfAStore - 1) {
      StartAnew();
    } else {
      ASSERT_TRUE(server_->PowerOn().ok());
    }
  }

  void StartAnew() {
    acknowledged_ += server_->AcknowledgedCount();
    server_ = std::make_unique<PoweredServer>();
    ASSERT_TRUE(server_->PowerOn().ok());
  }

  void Report(const std::string& what) {
    acknowledged_ += server_->AcknowledgedCount();
    EXPECT_GT(acknowledged_, 0u);
    EXPECT_GT(struck_, 0);
    std::cout << what << ", " << struck_ << " of them by the rule, " << at_start_
              << " while the server started, " << acknowledged_ << " entries acknowledged\n";
  }

  static FaultRule CutAtAnyCall(Survival survival, std::mt19937_64& random) {
    return {.op = "any",
            .nth = 1 + random() % 400,
            .cut = true,
            .survival = survival,
            .seed = random()};
  }

  std::unique_ptr<PoweredServer> server_ = std::make_unique<PoweredServer>();
  int struck_ = 0;    // rounds in which so many calls were made that the rule applied to one
  int at_start_ = 0;  // rounds in which the server did not start
  uint64_t acknowledged_ = 0;  // by the servers before this one
};

TEST_F(Power, CutLosesNothingThatWasAcknowledged) {
  const uint64_t seed = FaultSeed();
  std::mt19937_64 random(seed);
  const int rounds = FaultRounds(5);
  for (int round = 0; round < rounds; ++round) {
    SCOPED_TRACE(::testing::Message() << "round " << round << " of DPLEDGER_FAULT_SEED=" << seed);
    const Survival survival = random() % 2 == 0 ? Survival::kNothing : Survival::kTorn;
    const absl::Status again =
        RunThroughFault(CutAtAnyCall(survival, random), random() % 3 == 0, random);
    ASSERT_TRUE(again.ok()) << again;
    ASSERT_EQ(server_->Lost(), 0u) << "survival " << static_cast<int>(survival);
    GoOn(round);
  }
  Report(absl::StrCat(rounds, " cuts"));
}

// Where the disk may leave holes in what a log grew by, the storage engine cannot tell the hole
// from damage. Then the store may refuse to open, and says so; it never opens without an
// acknowledged entry.
TEST_F(Power, CutThatLeavesHolesLosesNothingSilently) {
  const uint64_t seed = FaultSeed();
  std::mt19937_64 random(seed);
  const int rounds = FaultRounds(5);
  int refused = 0;
  for (int round = 0; round < rounds; ++round) {
    SCOPED_TRACE(::testing::Message() << "round " << round << " of DPLEDGER_FAULT_SEED=" << seed);
    const absl::Status again =
        RunThroughFault(CutAtAnyCall(Survival::kTornWithHoles, random), random() % 3 == 0, random);
    if (again.ok()) {
      ASSERT_EQ(server_->Lost(), 0u);
      GoOn(round);
      continue;
    }
    EXPECT_THAT(std::string(again.message()), HasSubstr("\"code\":\"DATA_LOSS\""));
    ++refused;
    StartAnew();
  }
  Report(absl::StrCat(rounds, " cuts, after which ", refused, " stores refused to open"));
}

// A call that fails once, and power that goes after it: what a failed fsync should have written is
// gone for good, and must not have been acknowledged.
TEST_F(Power, FailedCallLosesNothingThatWasAcknowledged) {
  // How many calls of each kind a start and a round make, at least in most rounds; what is called
  // only while the store opens is counted from there.
  constexpr struct {
    const char* op;
    uint64_t most;
    bool at_start;
  } kCalls[] = {{"write", 300, false}, {"fdatasync", 300, false}, {"any", 700, false},
                {"fsync", 1, true},    {"fsyncdir", 4, true},     {"create", 5, true},
                {"rename", 3, true},   {"ftruncate", 1, true},    {"open", 9, true},
                {"unlink", 4, true},   {"fallocate", 2, true},    {"read", 30, true}};
  const uint64_t seed = FaultSeed();
  std::mt19937_64 random(seed);
  const int rounds = FaultRounds(12);
  for (int round = 0; round < rounds; ++round) {
    const auto& call = kCalls[static_cast<size_t>(round) % std::size(kCalls)];
    FaultRule rule = {.op = call.op, .nth = 1 + random() % call.most, .seed = random()};
    rule.error = random() % 2 == 0 ? EIO : ENOSPC;
    SCOPED_TRACE(::testing::Message() << "round " << round << " of DPLEDGER_FAULT_SEED=" << seed
                                      << ": " << RuleText(rule));
    const absl::Status again = RunThroughFault(rule, call.at_start || random() % 3 == 0, random);
    ASSERT_TRUE(again.ok()) << again;
    ASSERT_EQ(server_->Lost(), 0u);
    GoOn(round);
  }
  Report(absl::StrCat(rounds, " failed calls"));
}

// The control: the same writers on a disk that acknowledges fsync and does nothing, which is also
// what a server would see as its own work if it passed over a failed one.
TEST_F(Power, CutLosesAcknowledgedEntriesOnADiskThatIgnoresSync) {
  const absl::Status started = server_->Start();
  ASSERT_TRUE(started.ok()) << started;
  server_->Append(3, 1);
  ASSERT_TRUE(server_->disk().IgnoreSync(true).ok());
  server_->Append(20, 2);
  server_->PowerOff(Survival::kNothing, 0);
  ASSERT_TRUE(server_->PowerOn().ok());
  const absl::Status again = server_->Start();
  // A store that says itself that something is missing is as good a sign.
  if (!again.ok()) return;
  EXPECT_GT(server_->Lost(), 0u);
  std::cout << server_->Lost() << " of " << server_->AcknowledgedCount() << " entries lost\n";
}

}  // namespace
}  // namespace dpledger::testing
