// What the accountant needs of a ledger, read once and then carried on: a question about a ledger
// that has grown by k entries reads k entries.
//
//  1. Derived: everything here can be dropped and read again from the store.
//  2. The Merkle root is computed from the very bytes the history was read from.
//  3. Bounded: the least recently asked ledgers are forgotten above `max_bytes`; one ledger whose
//  history alone is
//     larger is refused.
// Thread safe.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "accountant/limits.h"
#include "accountant/mechanism/history.h"
#include "ledger_store/store.h"
#include "merkle/compact_tree.h"

namespace dpledger::server {

// The first tree.size() entries of a ledger.
struct LedgerHistory {
  accountant::History history;
  merkle::CompactTree tree;
  size_t bytes = 0;  // about what `history` takes in memory
};

class HistoryCache {
 public:
  // `store` must outlive the cache.
  HistoryCache(LedgerStore* store, size_t max_bytes) : store_(store), max_bytes_(max_bytes) {}

  // The first `size` entries of `ledger`, which must have so many. DATA_LOSS if the stored entries
  // are not what they must be; FAILED_PRECONDITION (reason NO_ANALYSIS) naming an entry that this
  // version cannot account for; RESOURCE_EXHAUSTED (reason HISTORY_TOO_LARGE); DEADLINE_EXCEEDED or
  // CANCELLED by `limits`.
  absl::StatusOr<std::shared_ptr<const LedgerHistory>> Read(const std::string& ledger,
                                                            uint64_t size,
                                                            const accountant::Limits& limits);

 private:
  using Entry = std::pair<std::string, std::shared_ptr<const LedgerHistory>>;

  // Null if there is none of at most `size` entries.
  std::shared_ptr<const LedgerHistory> Find(const std::string& ledger, uint64_t size);
  void Keep(const std::string& ledger, std::shared_ptr<const LedgerHistory> history);

  LedgerStore* const store_;
  const size_t max_bytes_;
  absl::Mutex mutex_;
  std::list<Entry> recent_ ABSL_GUARDED_BY(mutex_);  // most recently asked first
  std::unordered_map<std::string, std::list<Entry>::iterator> by_name_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace dpledger::server
