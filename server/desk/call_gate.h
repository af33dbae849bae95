// Counts the calls under way, so that a server that closes admits no new ones and waits for the
// last.
//
// gRPC's own graceful shutdown is no substitute: it also waits, up to its deadline, for idle
// connections whose clients do not react. Thread safe.
#pragma once

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace dpledger::server {

class CallGate {
 public:
  // Counts a call, admitted or not; every Enter needs a Leave. UNAVAILABLE once the gate is closed.
  absl::Status Enter();
  void Leave();

  void Close();
  // Waits until no call is under way, or until `deadline`.
  void AwaitEmpty(absl::Time deadline);

 private:
  absl::Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  int inside_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace dpledger::server
