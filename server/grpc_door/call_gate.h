// Counts the calls that are inside, so that a server that closes takes no new ones and waits for
// the last.
//
// gRPC's own graceful shutdown waits for idle connections too, up to its deadline, when their
// clients do not look. Thread safe.
#pragma once

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace dpledger::server {

class CallGate {
 public:
  // Counts a call, admitted or not; each Enter has its Leave. UNAVAILABLE once the gate is closed.
  absl::Status Enter();
  void Leave();

  void Close();
  // Waits until no call is inside, or until `deadline`.
  void AwaitEmpty(absl::Time deadline);

 private:
  absl::Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  int inside_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace dpledger::server
