#include "server/signing/signing_loop.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/absl_view.h"
#include "base/status.h"

namespace dpledger::server {
namespace {

constexpr absl::Duration kLongestWait = absl::Seconds(30);
// How often one who waits looks whether its caller has gone, or another process has signed.
constexpr absl::Duration kLookEvery = absl::Milliseconds(100);

// How often the loop looks whether another process still signs.
constexpr absl::Duration kFollowEvery = absl::Seconds(1);

bool MaySucceedLater(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsAborted(status) ||
         absl::IsResourceExhausted(status) || absl::IsDeadlineExceeded(status);
}

}  // namespace

SigningLoop::SigningLoop(Notary* notary, const SigningPace& pace, const Log* log,
                         absl::Duration stalled_after, Clock* clock)
    : notary_(*notary),
      pace_(pace),
      log_(*log),
      delayed_(log, "signing_delayed", absl::Minutes(1)),
      stalled_after_(stalled_after),
      clock_(*clock),
      alive_at_(clock->Steady()),
      thread_([this, all_at = clock->Steady() + pace.every] { Run(all_at); }) {}

SigningLoop::~SigningLoop() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
}

void SigningLoop::Nudge(const std::string& ledger) {
  absl::MutexLock lock(&mutex_);
  wanted_.insert(ledger);
  asked_ = begun_ + 1;
}

absl::Status SigningLoop::failure() const {
  absl::MutexLock lock(&mutex_);
  return failure_;
}

uint64_t SigningLoop::signed_entries() const {
  absl::MutexLock lock(&mutex_);
  return signed_entries_;
}

absl::Duration SigningLoop::SignedAge() const {
  const absl::Duration now = clock_.Steady();
  absl::MutexLock lock(&mutex_);
  return now - alive_at_;
}

absl::Status SigningLoop::Readiness() const {
  const absl::Duration age = SignedAge();
  absl::MutexLock lock(&mutex_);
  if (age > stalled_after_) {
    return WithReason(
        absl::UnavailableError(absl::StrCat("nothing shows for ", absl::ToInt64Seconds(age),
                                            " s that ledgers get signed",
                                            last_error_.empty() ? "" : ": ", last_error_)),
        {kSigningStalled, {}});
  }
  if (clock_jump_ != absl::ZeroDuration()) {
    return WithReason(absl::UnavailableError(absl::StrCat(
                          "the machine's clock has jumped by ", absl::ToInt64Seconds(clock_jump_),
                          " s; set it right, or restart the server if it is right now")),
                      {kClockJumped, {}});
  }
  return absl::OkStatus();
}

absl::StatusOr<SignedCheckpoint> SigningLoop::AwaitSigned(const std::string& log, uint64_t size,
                                                          const CallContext& call) {
  const absl::Time deadline = std::min(call.deadline, absl::Now() + kLongestWait);
  while (true) {
    ASSIGN_OR_RETURN(std::optional<SignedCheckpoint> latest, notary_.Latest(log));
    if (latest.has_value() && latest->checkpoint.size >= size) return *std::move(latest);
    {
      absl::MutexLock lock(&mutex_);
      RETURN_IF_ERROR(failure_);
      if (stopping_) return absl::UnavailableError("the server is stopping");
    }
    const absl::Time now = absl::Now();
    if (now >= deadline) {
      return WithReason(
          absl::DeadlineExceededError(absl::StrCat(log.empty() ? "the registry" : log, ": ", size,
                                                   " entries are not signed yet; ask again")),
          {"NOT_SIGNED_YET", {}});
    }
    if (call.cancelled && call.cancelled()) return absl::CancelledError("the caller has gone");
    AwaitRound(log, std::min(deadline, now + kLookEvery));
  }
}

void SigningLoop::AwaitRound(const std::string& log, absl::Time deadline) {
  absl::MutexLock lock(&mutex_);
  wanted_.insert(log);
  const uint64_t round = asked_ = begun_ + 1;
  const auto over = [this, round]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return finished_ >= round || stopping_ || !failure_.ok();
  };
  mutex_.AwaitWithDeadline(absl::Condition(&over), deadline);
}

void SigningLoop::Run(absl::Duration all_at) {
  ::pthread_setname_np(::pthread_self(), "notary");  // as top and perf show it
  absl::Duration pause = pace_.every;
  uint64_t in_turn = 0;  // ledgers signed since all of them last came due
  while (true) {
    uint64_t round = 0;
    std::set<std::string> wanted;
    {
      absl::MutexLock lock(&mutex_);
      const auto asked = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return asked_ > begun_ || stopping_;
      };
      mutex_.AwaitWithTimeout(absl::Condition(&asked), std::min(pause, all_at - clock_.Steady()));
      if (stopping_) return;
      round = ++begun_;
      wanted.swap(wanted_);
    }
    const bool all = clock_.Steady() >= all_at;
    const absl::StatusOr<SigningRound> signed_round =
        all ? notary_.Sign() : notary_.SignOnly(wanted);
    const absl::Status& status = signed_round.status();
    const bool elsewhere = signed_round.ok() && signed_round->elsewhere;
    pause = elsewhere ? std::min(pace_.every, kFollowEvery) : pace_.every;
    if (all) in_turn += signed_round.ok() ? signed_round->ledgers : 0;
    if (all && !(signed_round.ok() && signed_round->more)) {
      const absl::Duration apart =
          static_cast<double>(std::exchange(in_turn, 0)) * pace_.per_ledger;
      all_at = clock_.Steady() + std::max(pace_.every, std::min(apart, pace_.longest));
    }
    if (MaySucceedLater(status)) {
      delayed_.Write("", "", FromAbsl(status.message()),
                     {{"code", absl::StatusCodeToString(status.code())}});
    } else if (!status.ok()) {
      log_.Write(LogLevel::kError, "signing_failed",
                 {{"code", absl::StatusCodeToString(status.code())},
                  {"message", std::string(status.message())}});
    } else if (signed_round->ledgers != 0 && log_.Wants(LogLevel::kDebug)) {
      log_.Write(LogLevel::kDebug, "signed",
                 {{"ledgers", static_cast<int64_t>(signed_round->ledgers)},
                  {"entries", static_cast<int64_t>(signed_round->entries)}});
    }
    const absl::Duration now = clock_.Steady();
    absl::MutexLock lock(&mutex_);
    finished_ = round;
    if (signed_round.ok()) {
      clock_jump_ = signed_round->clock_jump;
      signed_entries_ += signed_round->entries;
    }
    if (signed_round.ok() && signed_round->alive) {
      alive_at_ = now;
      last_error_.clear();
    } else {
      last_error_ = status.ok() ? "another server holds the lease and does not sign"
                                : std::string(status.message());
    }
    if (!status.ok() && !MaySucceedLater(status)) {
      failure_ = status;
      return;
    }
  }
}

}  // namespace dpledger::server
