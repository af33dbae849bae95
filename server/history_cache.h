// What the accountant needs of ledgers, read once and then carried on: a question about a ledger
// that has grown by k entries reads k entries, after a restart too (server/stored_history.h).
//
//  1. Derived: everything here can be dropped and read again from the store.
//  2. What is answered has the Merkle root that was asked for, computed from the very bytes that
//     were read and, where a run-length table stands for the first of them, from its frontier. If
//     it has another root, everything derived of the ledger is dropped and all its entries are read
//     before it is called damaged.
//  3. Bounded: the least recently asked histories are forgotten above `max_bytes`; one ledger whose
//     history alone is larger is refused.
// Thread safe.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "accountant/limits.h"
#include "ledger_store/store.h"
#include "server/ledger_history.h"

namespace dpledger::server {

class HistoryCache {
 public:
  // `store` must outlive the cache.
  HistoryCache(LedgerStore* store, size_t max_bytes) : store_(store), max_bytes_(max_bytes) {}

  using HistoryPointer = std::shared_ptr<const LedgerHistory>;

  // The first `size` entries of `ledger`, which has so many. With all of them, or a `root` that is
  // not empty, they have that root. DATA_LOSS if the stored entries are not what they must be;
  // FAILED_PRECONDITION (reason NO_ANALYSIS) naming an entry that this version cannot account for;
  // RESOURCE_EXHAUSTED (reason HISTORY_TOO_LARGE); DEADLINE_EXCEEDED or CANCELLED by `limits`: what
  // was read until then is kept for the next question.
  absl::StatusOr<HistoryPointer> Read(const v1::Ledger& ledger, uint64_t size,
                                      const std::string& root, const accountant::Limits& limits);

 private:
  // One history of a ledger. The whole of it (as it was) is replaced by a longer whole; a prefix
  // that was asked for, or that its forks carry on from, stays.
  struct Point {
    std::string ledger;
    bool whole = false;
    HistoryPointer history;
  };

  // Read, from what is known of the ledger: nothing (null), a table that nothing has confirmed yet,
  // or a history that was read.
  absl::StatusOr<HistoryPointer> ReadFrom(HistoryPointer known, bool is_table,
                                          const v1::Ledger& ledger, uint64_t size,
                                          const std::string& asked_root,
                                          const accountant::Limits& limits);
  // The first `size` entries: those that are `known` (may be null), and the rest from the store.
  absl::StatusOr<std::shared_ptr<LedgerHistory>> CarryOn(const std::string& ledger,
                                                         const HistoryPointer& known, bool is_table,
                                                         uint64_t size,
                                                         const accountant::Limits& limits);

  // Null if there is none of at most `size` entries.
  HistoryPointer Find(const std::string& ledger, uint64_t size);
  void Keep(const std::string& ledger, bool whole, HistoryPointer history);
  void Forget(const std::string& ledger);
  void Erase(std::list<Point>::iterator point) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Null if the store has none that fits and is of at most `size` entries.
  HistoryPointer LoadTable(const v1::Ledger& ledger, uint64_t size);
  void StoreTable(const std::string& ledger, LedgerHistory& history);

  LedgerStore* const store_;
  const size_t max_bytes_;
  absl::Mutex mutex_;
  std::list<Point> recent_ ABSL_GUARDED_BY(mutex_);  // most recently asked first
  // By ledger and number of entries.
  std::map<std::pair<std::string, uint64_t>, std::list<Point>::iterator> by_size_
      ABSL_GUARDED_BY(mutex_);
  std::map<std::string, uint64_t> whole_ ABSL_GUARDED_BY(mutex_);  // size of the longest whole one
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace dpledger::server
