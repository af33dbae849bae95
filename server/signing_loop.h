// Runs a notary on a thread of its own: every few seconds, and at once when somebody waits for a
// signature. Those who wait together share a round.
//
// An error after which a later round may succeed (another process signs, the database is away) is
// logged and the next round waited for; any other ends the loop for good: the server must then not
// be served from. Thread safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "ledger_store/evidence/notary.h"
#include "server/call_context.h"
#include "server/log.h"

namespace dpledger::server {

class SigningLoop {
 public:
  // `notary` has signed once. From now on only this loop calls Sign(). `notary` and `log` must
  // outlive the loop.
  SigningLoop(Notary* notary, absl::Duration every, const Log* log);
  ~SigningLoop();  // after the round that runs; whoever waits gets UNAVAILABLE

  const Notary& notary() const { return notary_; }

  // Asks for a round, and does not wait for it.
  void Nudge();

  // A checkpoint of the log of at least `size` entries that may be handed out. Precondition: the
  // log has so many. Errors of Notary::Latest; DEADLINE_EXCEEDED (NOT_SIGNED_YET) at the call's
  // deadline or after half a minute; CANCELLED; the loop's failure.
  absl::StatusOr<SignedCheckpoint> AwaitSigned(const std::string& log, uint64_t size,
                                               const CallContext& call);

  // What ended the loop; OK while it runs.
  absl::Status failure() const;

 private:
  void Run();
  // Waits for a round that began after the call; at most until `deadline`.
  void AwaitRound(absl::Time deadline);

  Notary& notary_;
  const absl::Duration every_;
  const Log& log_;

  mutable absl::Mutex mutex_;
  uint64_t asked_ ABSL_GUARDED_BY(mutex_) = 0;     // rounds, by number
  uint64_t begun_ ABSL_GUARDED_BY(mutex_) = 0;     // up to this number
  uint64_t finished_ ABSL_GUARDED_BY(mutex_) = 0;  // up to this number
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);

  std::thread thread_;  // last: it uses all of the above
};

}  // namespace dpledger::server
