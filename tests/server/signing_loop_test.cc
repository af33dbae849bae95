// The loop that signs: what it goes on after, what ends it, and how long one waits for it.
#include "server/signing_loop.h"

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

TEST_F(SigningLoopTest, EndsForGoodWhenWhatIsStoredIsWrong) {
  tampering_.entries = [](const std::string&, uint64_t, std::vector<std::string>& entries) {
    for (std::string& entry : entries) entry.back() ^= 1;
  };
  SigningLoop loop(notary_.get(), absl::InfiniteDuration(), &log_);
  EXPECT_TRUE(IsError(Await(loop, 5), StatusCode::kDataLoss, "", "it will not be signed"));
  EXPECT_TRUE(IsError(loop.failure(), StatusCode::kDataLoss, "", "it will not be signed"));
  loop.Nudge();
  EXPECT_TRUE(absl::IsDataLoss(Await(loop, 5)));
  EXPECT_EQ(Await(loop, 1), absl::OkStatus());
}

}  // namespace
}  // namespace dpledger::server
