// Runs a notary on a thread of its own. A ledger is signed at once when a call waits for that, or
// when it is sealed; calls that wait at the same time share a round. All are signed every few
// seconds, less often the more of them there are: each signature is an entry of the registry, which
// is kept for good.
//
// While another process signs, the loop looks at least every second whether it may take over.
// After an error that may pass (another process signs, the database is away), the loop logs it and
// tries again in the next round. Any other error ends the loop for good; the server must then stop
// serving. Thread safe.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/rare_log.h"
#include "ledger_store/evidence/notary.h"
#include "server/call_context.h"
#include "server/log.h"
#include "server/signing/signed_logs.h"

namespace dpledger::server {

// The reasons of Readiness.
inline constexpr char kSigningStalled[] = "SIGNING_STALLED";
inline constexpr char kClockJumped[] = "CLOCK_JUMPED";

// How often all ledgers are signed.
struct SigningPace {
  SigningPace(absl::Duration shortest) : every(shortest) {}  // NOLINT: a time says it all

  absl::Duration every;
  // The time that a signature stands for: 20 a second are at most 100 GB of registry a year.
  absl::Duration per_ledger = absl::Milliseconds(50);
  absl::Duration longest = kLongestUnsigned;
};

class SigningLoop : public SignedLogs {
 public:
  // Precondition: notary->Sign() has returned OK once. From now on only this loop calls Sign().
  // `notary` and `log` must outlive the loop.
  SigningLoop(Notary* notary, const SigningPace& pace, const Log* log,
              absl::Duration stalled_after = absl::InfiniteDuration(),
              Clock* clock = Clock::System());
  ~SigningLoop() override;  // waits for the round under way; calls that wait get UNAVAILABLE

  const Notary& notary() const { return notary_; }

  // Asks for a ledger's signature without waiting for it.
  void Nudge(const std::string& ledger);

  // Waits for a published checkpoint of the log with at least `size` entries. Precondition: the log
  // has so many. Errors of Notary::Latest; DEADLINE_EXCEEDED (NOT_SIGNED_YET) at the call's
  // deadline or after half a minute; CANCELLED; the loop's failure.
  absl::StatusOr<SignedCheckpoint> AwaitSigned(const std::string& log, uint64_t size,
                                               const CallContext& call) override;
  absl::StatusOr<std::optional<SignedCheckpoint>> LatestSigned(const std::string& log) override {
    return notary_.Latest(log);
  }

  // Whether ledgers get signed, by this process or another one, at a time that can be trusted.
  // UNAVAILABLE: SIGNING_STALLED if no round has shown that for `stalled_after`; CLOCK_JUMPED if
  // the time of day does not fit the time that has passed.
  absl::Status Readiness() const;
  // Time since the last round that showed that ledgers get signed.
  absl::Duration SignedAge() const;

  // How many entries of ledgers the rounds have signed.
  uint64_t signed_entries() const;

  // What ended the loop; OK while it runs.
  absl::Status failure() const;

 private:
  // `all_at`: when all ledgers are signed first, by the steady clock.
  void Run(absl::Duration all_at);
  // Waits for a round for the ledger that began after the call; at most until `deadline`.
  void AwaitRound(const std::string& log, absl::Time deadline);

  Notary& notary_;
  const SigningPace pace_;
  const Log& log_;
  RareLog delayed_;
  const absl::Duration stalled_after_;
  Clock& clock_;

  mutable absl::Mutex mutex_;
  uint64_t asked_ ABSL_GUARDED_BY(mutex_) = 0;            // number of the last round asked for
  uint64_t begun_ ABSL_GUARDED_BY(mutex_) = 0;            // up to this number
  uint64_t finished_ ABSL_GUARDED_BY(mutex_) = 0;         // up to this number
  std::set<std::string> wanted_ ABSL_GUARDED_BY(mutex_);  // for the next round
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
  absl::Duration alive_at_ ABSL_GUARDED_BY(mutex_);  // by the steady clock
  uint64_t signed_entries_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Duration clock_jump_ ABSL_GUARDED_BY(mutex_);
  std::string last_error_ ABSL_GUARDED_BY(mutex_);  // since then; may be empty

  std::thread thread_;  // last: it uses all of the above
};

}  // namespace dpledger::server
