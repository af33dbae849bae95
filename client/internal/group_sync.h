// Makes what is appended to a spool durable without making the one who appends wait: one thread,
// one sync at a time, and each covers everything that was appended before it began.
//
// Invariants:
//  1. What was synced is told in order, and only after the disk said so.
//  2. After an error of the disk nothing is synced any more, and every Await returns it.
// Thread safe.
#pragma once

#include <cstdint>
#include <functional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "client/spool.h"

namespace dpledger::client::internal {

class GroupSync {
 public:
  // `synced` is called on this object's thread with the position before which every batch is
  // durable. `spool` outlives this.
  GroupSync(Spool* spool, std::function<void(uint64_t)> synced);
  // Leaves unsynced what no sync under way covers.
  ~GroupSync();
  GroupSync(const GroupSync&) = delete;
  GroupSync& operator=(const GroupSync&) = delete;

  // The spool holds batches up to `end` now.
  void Request(uint64_t end);

  // Waits until every batch before `end` is durable. The disk's error; DEADLINE_EXCEEDED.
  absl::Status Await(uint64_t end, absl::Time deadline);

 private:
  void Run();

  Spool* const spool_;
  const std::function<void(uint64_t)> tell_synced_;

  mutable absl::Mutex mutex_;
  absl::CondVar requested_;
  absl::CondVar done_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t end_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t synced_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);

  std::thread thread_;
};

}  // namespace dpledger::client::internal
