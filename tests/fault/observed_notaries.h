// Notaries of several servers that sign one database's ledgers at the same time, and everything
// that they would have handed out. Thread safe.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "ledger_store/evidence/notary.h"
#include "ledger_store/store.h"

namespace dpledger::testing {

class ObservedNotaries {
 public:
  // One for each store, which outlives this; `ledger` is watched beside the registry. All sign
  // with one key, and take turns by a short lease.
  ObservedNotaries(const std::vector<LedgerStore*>& stores, std::string ledger);
  ~ObservedNotaries() { Stop(); }

  void Stop();
  // Waits until so many different checkpoints of the ledger have been seen.
  void Await(size_t count) const;

  // What is wrong with the checkpoints that were seen, given the leaves as they are now: each must
  // be the root of so many of them. Then no two of them contradict each other.
  std::vector<std::string> WrongWith(LedgerStore& store) const;
  // Of the ledger and of the registry.
  size_t seen() const;

 private:
  void Sign(LedgerStore& store, int number);
  void Note(const SignedCheckpoint& seen, std::map<uint64_t, merkle::Hash>& checkpoints)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string ledger_;
  std::atomic<bool> stopping_ = false;
  mutable absl::Mutex mutex_;
  std::map<uint64_t, merkle::Hash> of_ledger_ ABSL_GUARDED_BY(mutex_);  // size -> root
  std::map<uint64_t, merkle::Hash> of_registry_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> surprises_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_;
};

}  // namespace dpledger::testing
