// The queue of operations for the commit thread.
//
//  1. Operations are taken in the order in which they came.
//  2. `max_bytes` bounds the operations that wait or are taken.
//  3. Push throws nothing but std::bad_alloc, and then has changed nothing.
// Thread safe.
#pragma once

#include <cstddef>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "ledger_store/embedded/commit_group.h"

namespace dpledger::embedded {

class CommitQueue {
 public:
  explicit CommitQueue(size_t max_bytes) : max_bytes_(max_bytes) {}

  // Adds an operation; `done` takes the place of its own callback if it is not null. If too much
  // waits, it is answered with RESOURCE_EXHAUSTED (QUEUE_FULL) when its turn comes.
  void Push(QueuedOperation& operation, LedgerStore::AppendCallback* done = nullptr);

  // Takes all operations as a group, into `taken`, which must be empty. Take waits for some, and is
  // false once the queue is closed, empty, and all that was taken is finished: whoever is answered
  // may have another request. TakeWaiting is false if there is none.
  bool Take(std::vector<QueuedOperation>& taken);
  bool TakeWaiting(std::vector<QueuedOperation>& taken);

  // A group of `bytes` is about to be answered: they no longer count. So a caller that sends its
  // next request right after an answer is not refused because of its last one.
  void Release(size_t bytes);
  // A group was answered.
  void Finish();

  // Of operations that wait or are taken.
  size_t bytes() const;

  void Close();

 private:
  void TakeAll(std::vector<QueuedOperation>& taken) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t max_bytes_;
  mutable absl::Mutex mutex_;
  std::vector<QueuedOperation> waiting_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  int unfinished_groups_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace dpledger::embedded
