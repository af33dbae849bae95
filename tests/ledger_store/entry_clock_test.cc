// Recorded times after jumps of the machine's clock, and what a notary says of the lease's holder.
#include "base/entry_clock.h"

#include <gtest/gtest.h>

#include "tests/ledger_store/signed_store.h"
#include "tests/ledger_store/tampered_store.h"

namespace dpledger {
namespace {

constexpr absl::Duration kYear = absl::Hours(365 * 24);

TEST(EntryClock, FollowsTheTimeOfDayUpToAnHourBeyondTheSteadyClock) {
  TestClock clock;
  const absl::Time began = clock.Now();
  const EntryClock entries(clock);
  clock.Advance(absl::Hours(48));
  EXPECT_EQ(entries.Now(), began + absl::Hours(48));
  clock.Jump(absl::Hours(1));
  EXPECT_EQ(entries.Now(), began + absl::Hours(49));
  EXPECT_EQ(entries.Jump(), absl::ZeroDuration());
  clock.Jump(kYear);
  EXPECT_EQ(entries.Now(), began + absl::Hours(49));
  EXPECT_EQ(entries.Jump(), kYear + absl::Hours(1));
  clock.Advance(absl::Minutes(5));  // not an hour more each time
  EXPECT_EQ(entries.Now(), began + absl::Hours(49) + absl::Minutes(5));
  clock.Jump(-kYear - absl::Hours(1));
  EXPECT_EQ(entries.Now(), began + absl::Hours(48) + absl::Minutes(5));
  EXPECT_EQ(entries.Jump(), absl::ZeroDuration());
  clock.Jump(-absl::Hours(2));
  EXPECT_EQ(entries.Now(), clock.Now());
  EXPECT_EQ(entries.Jump(), -absl::Hours(2));
}

class NotaryClockTest : public SignedStore {
 protected:
  absl::Time LastRecorded() {
    v1::LedgerEntry entry;
    EXPECT_TRUE(entry.ParseFromString(Entries(kRegistryLog).back()));
    return absl::FromUnixSeconds(entry.recorded_time().seconds());
  }

  Tampering tampering_;
};

// Once one jump held the recorded time for ever.
TEST_F(NotaryClockTest, RecordedTimeRecoversFromAJump) {
  Create(kLedger);
  const absl::Time began = clock_.Now();
  const auto notary = MustOpen(Options(), *store_);
  EXPECT_EQ(MustSign(*notary).ledgers, 0u);
  clock_.Jump(kYear);
  AppendNotes(kLedger, 1);
  const absl::StatusOr<SigningRound> jumped = notary->Sign();
  ASSERT_TRUE(jumped.ok()) << jumped.status();
  EXPECT_EQ(jumped->ledgers, 1u);
  EXPECT_EQ(jumped->clock_jump, kYear);
  EXPECT_EQ(LastRecorded(), began + absl::Hours(1));
  EXPECT_EQ(store_->Head(kLedger).value()->last_recorded_time, began + absl::Hours(1));
  clock_.Jump(-kYear);
  clock_.Advance(absl::Minutes(90));
  AppendNotes(kLedger, 1);
  const absl::StatusOr<SigningRound> after = notary->Sign();
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_EQ(after->clock_jump, absl::ZeroDuration());
  EXPECT_EQ(LastRecorded(), began + absl::Minutes(90));
  EXPECT_EQ(store_->Head(kLedger).value()->last_recorded_time, began + absl::Minutes(90));
}

TEST_F(NotaryClockTest, RecordedTimeNeverGoesBack) {
  Create(kLedger);
  const absl::Time began = clock_.Now();
  const auto notary = MustOpen(Options(), *store_);
  clock_.Jump(-kYear);
  AppendNotes(kLedger, 1);
  EXPECT_EQ(notary->Sign()->clock_jump, -kYear);
  EXPECT_EQ(LastRecorded(), began);
}

TEST_F(NotaryClockTest, FollowerTellsAHolderThatSignsFromOneThatDoesNot) {
  Create(kLedger);
  TamperedStore store(*store_, &tampering_);
  const auto notary = MustOpen(Options(), *store_);
  std::string beat = "1.1";
  tampering_.lease = [&] {
    return WithReason(absl::UnavailableError("another signs"),
                      {"SIGNER_ELSEWHERE", {{"beat", beat}}});
  };
  const auto follower = MustOpen(Options(), store);
  const auto alive = [&] {
    const absl::StatusOr<SigningRound> round = follower->Sign();
    EXPECT_TRUE(round.ok() && round->elsewhere) << round.status();
    return round.ok() && round->alive;
  };
  EXPECT_FALSE(alive());  // no beat
  beat = "1.2";
  EXPECT_TRUE(alive());
  EXPECT_FALSE(alive());
  AppendNotes(kLedger, 1);
  beat = "1.3";
  EXPECT_TRUE(alive());  // a beat, and what is there to sign may wait
  clock_.Advance(kLongestUnsigned + absl::Seconds(1));
  EXPECT_FALSE(alive());
  beat = "1.4";
  EXPECT_FALSE(alive());  // a beat, but it has waited for too long
  MustSign(*notary);
  EXPECT_TRUE(alive());  // it has published
  EXPECT_FALSE(alive());
}

}  // namespace
}  // namespace dpledger
