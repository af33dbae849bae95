// Writers that append to a store and remember what was acknowledged to them, and the check that a
// store holds all of it: once, whole, in order.
#pragma once

#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "dpledger/v1/ledger.pb.h"
#include "ledger_store/store.h"

namespace dpledger {

using Acknowledged = std::map<std::string, v1::Receipt>;  // by request id

class AcknowledgedLoad {
 public:
  // Starts the writers; each appends rounds of its own to `ledger`, one after the other. The stores
  // take turns: each request goes to one of them, and after UNAVAILABLE, unchanged, to the next.
  // They outlive this. The ledger must be there.
  AcknowledgedLoad(std::vector<LedgerStore*> stores, std::string ledger, int writers);
  ~AcknowledgedLoad() { Stop(); }

  // Lets every writer finish the request in its hands, if a store takes it within `patience`.
  void Stop(absl::Duration patience = absl::ZeroDuration());

  size_t count() const { return count_; }
  // Waits until so many requests were acknowledged.
  void Await(size_t count) const;
  Acknowledged acknowledged() const;
  // What the writers were told that nobody should be.
  std::vector<std::string> surprises() const;

 private:
  void Write(int writer);

  const std::vector<LedgerStore*> stores_;
  const std::string ledger_;
  std::atomic<bool> stopping_ = false;
  std::atomic<int64_t> patience_until_ = 0;  // Unix nanoseconds
  std::atomic<size_t> count_ = 0;
  mutable absl::Mutex mutex_;
  Acknowledged acknowledged_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> surprises_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_;
};

// All entries of a ledger as they are stored; fails the test if they cannot be read.
std::vector<std::string> ReadAll(LedgerStore& store, const std::string& ledger);

// What is wrong with a ledger of these entries, whose root is said to be `root`: a gap, a request
// that is there twice or in pieces, an acknowledged one that is not where its receipt says.
std::vector<std::string> WrongWith(const std::vector<std::string>& entries, const std::string& root,
                                   const Acknowledged& acknowledged);

}  // namespace dpledger
