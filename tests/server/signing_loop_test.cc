// The loop that signs: what it goes on after, what ends it, and how long one waits for it.
#include "server/signing/signing_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "absl/time/clock.h"
#include "tests/ledger_store/signed_store.h"
#include "tests/ledger_store/tampered_store.h"

namespace dpledger::server {
namespace {

using absl::StatusCode;

class SigningLoopTest : public SignedStore {
 protected:
  SigningLoopTest() : store_below_(*store_, &tampering_) {
    Create(kLedger);
    notary_ = MustOpen(Options(), store_below_);
    AppendNotes(kLedger, 4);
  }
  absl::Status Await(SigningLoop& loop, uint64_t size, const CallContext& call = {}) {
    return loop.AwaitSigned(kLedger, size, call).status();
  }

  Tampering tampering_;
  TamperedStore store_below_;
  Log log_{LogLevel::kError, 2};
  std::unique_ptr<Notary> notary_;
};

TEST_F(SigningLoopTest, SignsForThoseWhoWaitAndForNobodyElse) {
  std::atomic<int> published = 0;
  tampering_.before_publish = [&](const Publication&) {
    ++published;
    return absl::OkStatus();
  };
  SigningLoop loop(notary_.get(), absl::InfiniteDuration(), &log_);
  EXPECT_EQ(Await(loop, 1), absl::OkStatus());
  EXPECT_EQ(published, 0);
  EXPECT_EQ(Await(loop, 5), absl::OkStatus());
  EXPECT_EQ(Await(loop, 5), absl::OkStatus());
  EXPECT_EQ(published, 1);
}

// Ledgers that change all the time are entries of the registry all the time: the more there are,
// the longer each waits, but for one that somebody asks for.
TEST_F(SigningLoopTest, ManyAreSignedLessOftenAndWhoIsWaitedForAtOnce) {
  constexpr int kMany = 20;
  const auto name = [](int i) { return absl::StrCat("projects/p/ledgers/many-", i); };
  for (int i = 0; i < kMany; ++i) Create(name(i));
  std::atomic<int> rounds = 0, signed_ledgers = 0;
  tampering_.before_publish = [&](const Publication& publication) {
    ++rounds;
    signed_ledgers += static_cast<int>(publication.logs.size()) - 1;  // without the registry
    return absl::OkStatus();
  };
  SigningPace pace = absl::Seconds(5);
  pace.per_ledger = absl::Seconds(2);
  pace.longest = absl::Seconds(60);
  SigningLoop loop(notary_.get(), pace, &log_, absl::InfiniteDuration(), &clock_);
  // Until the round is over that has signed so many.
  const auto await_entries = [&](uint64_t entries) {
    while (loop.signed_entries() < entries) {
      loop.Nudge("projects/p/ledgers/none");  // so that it looks at its clock
      absl::SleepFor(absl::Milliseconds(1));
    }
  };
  clock_.Advance(absl::Seconds(5));
  await_entries(1);
  const uint64_t first = loop.signed_entries();
  EXPECT_EQ(signed_ledgers, kMany + 1);
  for (int i = 0; i < kMany; ++i) AppendNotes(name(i), 1);
  // 21 ledgers, 2 s each, are 42 s.
  clock_.Advance(absl::Seconds(41));
  EXPECT_EQ(loop.AwaitSigned(name(7), 2, {}).status(), absl::OkStatus());
  EXPECT_EQ(rounds, 2);
  EXPECT_EQ(signed_ledgers, kMany + 2);
  EXPECT_EQ(notary_->Latest(name(8))->value().checkpoint.size, 1u);
  clock_.Advance(absl::Seconds(1));
  await_entries(first + kMany);
  EXPECT_EQ(signed_ledgers, 2 * kMany + 1);
}

TEST_F(SigningLoopTest, GoesOnWhenTheStoreWasAwayOrAnotherSigned) {
  std::atomic<int> failures = 0;
  tampering_.before_publish = [&](const Publication&) -> absl::Status {
    if (++failures <= 2) return absl::UnavailableError("the database is away");
    if (failures <= 4) return absl::AbortedError("another process signed");
    return absl::OkStatus();
  };
  SigningLoop loop(notary_.get(), absl::InfiniteDuration(), &log_);
  EXPECT_EQ(Await(loop, 5), absl::OkStatus());
  EXPECT_EQ(failures, 5);
  EXPECT_EQ(loop.failure(), absl::OkStatus());
}

TEST_F(SigningLoopTest, WhoWaitsIsToldWhenItTakesTooLong) {
  tampering_.before_publish = [](const Publication&) {
    return absl::UnavailableError("the database is away");
  };
  SigningLoop loop(notary_.get(), absl::InfiniteDuration(), &log_);
  CallContext call;
  call.deadline = absl::Now() + absl::Milliseconds(50);
  EXPECT_TRUE(IsError(Await(loop, 5, call), StatusCode::kDeadlineExceeded, "NOT_SIGNED_YET",
                      "projects/p/ledgers/a: 5 entries are not signed yet; ask again"));
  call.deadline = absl::InfiniteFuture();
  call.cancelled = [] { return true; };
  EXPECT_TRUE(IsError(Await(loop, 5, call), StatusCode::kCancelled, "", "the caller has gone"));
  EXPECT_EQ(Await(loop, 1, call), absl::OkStatus());  // what is signed is there all the same
}

TEST_F(SigningLoopTest, IsNotReadyWhileNothingGetsSigned) {
  std::atomic<bool> elsewhere = true;
  tampering_.lease = [&] {
    if (!elsewhere) return absl::OkStatus();
    return WithReason(absl::UnavailableError("another signs"),
                      {"SIGNER_ELSEWHERE", {{"beat", "1.1"}}});
  };
  SigningLoop loop(notary_.get(), absl::Milliseconds(1), &log_, absl::Seconds(45), &clock_);
  clock_.Advance(absl::Seconds(45));
  EXPECT_EQ(loop.Readiness(), absl::OkStatus());
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(loop.SignedAge(), absl::Seconds(46));
  EXPECT_TRUE(IsError(loop.Readiness(), StatusCode::kUnavailable, "SIGNING_STALLED",
                      "nothing shows for 46 s that ledgers get signed"));
  EXPECT_EQ(loop.failure(), absl::OkStatus());
  elsewhere = false;
  EXPECT_EQ(Await(loop, 5), absl::OkStatus());
  while (!loop.Readiness().ok()) absl::SleepFor(absl::Milliseconds(1));
  EXPECT_EQ(loop.SignedAge(), absl::ZeroDuration());
}

TEST_F(SigningLoopTest, IsNotReadyWhileARoundHangs) {
  std::atomic<bool> hangs = true, began = false;
  tampering_.before_publish = [&](const Publication&) {
    began = true;
    while (hangs) absl::SleepFor(absl::Milliseconds(1));
    return absl::OkStatus();
  };
  SigningLoop loop(notary_.get(), absl::Milliseconds(1), &log_, absl::Seconds(45), &clock_);
  clock_.Advance(absl::Milliseconds(1));
  while (!began) absl::SleepFor(absl::Milliseconds(1));
  clock_.Advance(absl::Minutes(1));
  EXPECT_TRUE(IsError(loop.Readiness(), StatusCode::kUnavailable, "SIGNING_STALLED", "for 60 s"));
  hangs = false;
  EXPECT_EQ(Await(loop, 5), absl::OkStatus());
  while (!loop.Readiness().ok()) absl::SleepFor(absl::Milliseconds(1));
}

TEST_F(SigningLoopTest, IsNotReadyWhileTheClockIsWrong) {
  clock_.Jump(absl::Hours(400 * 24));
  SigningLoop loop(notary_.get(), absl::Milliseconds(1), &log_, absl::Seconds(45), &clock_);
  EXPECT_EQ(Await(loop, 5), absl::OkStatus());  // signing goes on
  while (loop.Readiness().ok()) absl::SleepFor(absl::Milliseconds(1));
  EXPECT_TRUE(IsError(loop.Readiness(), StatusCode::kUnavailable, "CLOCK_JUMPED",
                      "clock has jumped by 34560000 s"));
  clock_.Jump(-absl::Hours(400 * 24));
  while (!loop.Readiness().ok()) absl::SleepFor(absl::Milliseconds(1));
}

TEST_F(SigningLoopTest, EndsForGoodWhenWhatIsStoredIsWrong) {
  tampering_.entries = [](const std::string&, uint64_t, std::vector<std::string>& entries) {
    for (std::string& entry : entries) entry.back() ^= 1;
  };
  SigningLoop loop(notary_.get(), absl::InfiniteDuration(), &log_);
  EXPECT_TRUE(IsError(Await(loop, 5), StatusCode::kDataLoss, "", "it will not be signed"));
  EXPECT_TRUE(IsError(loop.failure(), StatusCode::kDataLoss, "", "it will not be signed"));
  loop.Nudge(kLedger);
  EXPECT_TRUE(absl::IsDataLoss(Await(loop, 5)));
  EXPECT_EQ(Await(loop, 1), absl::OkStatus());
}

}  // namespace
}  // namespace dpledger::server
