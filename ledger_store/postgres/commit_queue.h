// The queue of requests for the commit threads.
//
//  1. Requests for the same ledger, or in the same line, are taken in the order in which they came,
//     and none of them while an earlier one is being committed.
//  2. `max_bytes` bounds the requests that wait or are taken.
//  3. Push and Take throw std::bad_alloc where there is no memory, and then have changed nothing.
// Thread safe.
#pragma once

#include <cstddef>
#include <deque>
#include <list>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "ledger_store/staging/operation.h"

namespace dpledger::postgres {

class CommitQueue {
  // What two requests must not share in different groups: ledgers, by name, and lines, by address.
  using Keys = std::set<std::string>;

 public:
  explicit CommitQueue(size_t max_bytes) : max_bytes_(max_bytes) {}

  // What one transaction is to do.
  struct Group {
    std::vector<Operation> operations;
    std::unique_ptr<const Keys> keys;  // of the operations
  };

  // Adds a request; `done` takes the place of its own callback if it is not null. If too much
  // waits, it is answered with RESOURCE_EXHAUSTED (QUEUE_FULL) when its turn comes.
  void Push(Operation& operation, LedgerStore::AppendCallback* done = nullptr);

  // Waits for requests that may be taken, and takes a transaction's worth of them. Empty once the
  // queue is closed and has nothing left for this thread.
  Group Take();

  // The group is about to be answered: its bytes no longer count. So a caller that sends its next
  // request right after an answer is not refused because of its last one.
  void Release(const Group& group);

  // The group was released and answered: requests that waited for its ledgers and lines may be
  // taken.
  void Finish(const Group& group);

  // Of waiting and taken requests.
  size_t bytes() const;

  // From now on Take returns what is left and does not wait for more.
  void Close();

 private:
  static Keys KeysOf(const Operation& operation);
  bool IsBusy(const std::string& key) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Takes the requests that wait for no earlier one.
  Group TakeReady() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t max_bytes_;
  mutable absl::Mutex mutex_;
  absl::CondVar changed_;
  std::deque<Operation> waiting_ ABSL_GUARDED_BY(mutex_);
  std::list<const Keys*> busy_ ABSL_GUARDED_BY(mutex_);  // of the groups that are committed now
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;             // of waiting and taken requests
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace dpledger::postgres
