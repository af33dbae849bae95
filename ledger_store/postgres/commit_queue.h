// The requests that wait for a commit thread, and which thread may take which.
//
//  1. Requests that name one ledger, or stand in one line, are taken in the order in which they
//     came, and none of them while a group holds an earlier one.
//  2. What waits and what is taken is bounded by `max_bytes`.
// Thread safe.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "ledger_store/staging/operation.h"

namespace dpledger::postgres {

class CommitQueue {
 public:
  explicit CommitQueue(size_t max_bytes) : max_bytes_(max_bytes) {}

  // RESOURCE_EXHAUSTED (QUEUE_FULL) becomes the operation's answer if too much waits.
  void Push(Operation operation);

  // Waits for requests that may be taken, and takes as many as a transaction should have. Empty:
  // the queue is closed and has nothing left for this thread.
  std::vector<Operation> Take();

  // The group is about to be answered, and counts no more: a caller who waits for the answer before
  // the next request is not to find itself in its own way.
  void Release(const std::vector<Operation>& group);

  // The group was released and is answered: what waited for its ledgers and lines may go on.
  void Finish(const std::vector<Operation>& group);

  // Take hands out what is there, and waits for no more.
  void Close();

 private:
  // What keeps requests apart from each other: ledgers by name, lines by address.
  using Keys = std::set<std::string>;
  static Keys KeysOf(const Operation& operation);

  // The requests that stand behind none that is being committed.
  std::vector<Operation> TakeReady() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t max_bytes_;
  absl::Mutex mutex_;
  absl::CondVar changed_;
  std::deque<Operation> waiting_ ABSL_GUARDED_BY(mutex_);
  Keys busy_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // of what waits and what is taken, until released
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace dpledger::postgres
