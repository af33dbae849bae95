// A cache of ledgers' histories: a question about a ledger that has grown by k entries since the
// last question reads k entries, after a restart too (server/questions/stored_history.h).
//
//  1. Derived: everything here can be dropped and read again from the store.
//  2. A returned history has the Merkle root that was asked for. The root is computed from the
//     bytes that were read and, if a run-length table stands for the first entries, from the
//     table's frontier. If the root differs, or the entries do not follow what is cached, the cache
//     drops everything derived of the ledger and reads all its entries before it reports damage.
//  3. Bounded: above `max_bytes` the least recently used histories are dropped; a ledger whose
//     history alone is larger is refused.
//  4. A returned history's entry 0 declares what the ledger does.
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
#include "merkle/authenticator.h"
#include "server/log.h"
#include "server/questions/ledger_history.h"

namespace dpledger::server {

// How run-length tables are kept.
struct TableKeeping {
  // For kHistoryPurpose (stored_history.h). Null: no table is read or stored.
  std::shared_ptr<const merkle::Authenticator> key;
  const Log* log = nullptr;  // told of each table that is dropped; may be null
};

class HistoryCache {
 public:
  // `store` must outlive the cache.
  HistoryCache(LedgerStore* store, size_t max_bytes, TableKeeping tables = {})
      : store_(store), max_bytes_(max_bytes), tables_(std::move(tables)) {}

  using HistoryPointer = std::shared_ptr<const LedgerHistory>;

  // The history of the first `size` entries of `ledger`, which has at least so many. The entries
  // are checked against `root` unless it is empty, and against the ledger's root if `size` is all
  // of them. DATA_LOSS if the stored entries have another root or are damaged, or if the ledger's
  // declaration is not that of entry 0; FAILED_PRECONDITION
  // (reason NO_ANALYSIS) naming an entry that this version cannot account for; RESOURCE_EXHAUSTED
  // (reason HISTORY_TOO_LARGE); DEADLINE_EXCEEDED or CANCELLED by `limits`: the cache keeps what
  // was read until then.
  absl::StatusOr<HistoryPointer> Read(const v1::Ledger& ledger, uint64_t size,
                                      const std::string& root, const accountant::Limits& limits);

 private:
  // One cached history of a ledger. A history that was the whole ledger is replaced when a longer
  // whole one is read. A prefix that was asked for, or that a fork carries on from, stays.
  struct Point {
    std::string ledger;
    bool whole = false;
    HistoryPointer history;
  };

  absl::StatusOr<HistoryPointer> Gather(const v1::Ledger& ledger, uint64_t size,
                                        const std::string& root, const accountant::Limits& limits);

  // The same, starting from `known`: null, a stored table that is not yet confirmed (`is_table`),
  // or a history that was read.
  absl::StatusOr<HistoryPointer> ReadFrom(HistoryPointer known, bool is_table,
                                          const v1::Ledger& ledger, uint64_t size,
                                          const std::string& asked_root,
                                          const accountant::Limits& limits);
  // Extends a copy of `known` (may be null) to the first `size` entries, reading the rest from the
  // store.
  absl::StatusOr<std::shared_ptr<LedgerHistory>> CarryOn(const std::string& ledger,
                                                         const HistoryPointer& known, bool is_table,
                                                         uint64_t size,
                                                         const accountant::Limits& limits);

  // The longest cached history of at most `size` entries; null if there is none.
  HistoryPointer Find(const std::string& ledger, uint64_t size);
  void Keep(const std::string& ledger, bool whole, HistoryPointer history);
  void Forget(const std::string& ledger);
  void Erase(std::list<Point>::iterator point) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // The store's table; null if there is none, or it has more than `size` entries, or it is dropped.
  HistoryPointer LoadTable(const v1::Ledger& ledger, uint64_t size);
  void LogDropped(const std::string& ledger, const absl::Status& why) const;
  void StoreTable(const std::string& ledger, LedgerHistory& history);

  LedgerStore* const store_;
  const size_t max_bytes_;
  const TableKeeping tables_;
  absl::Mutex mutex_;
  std::list<Point> recent_ ABSL_GUARDED_BY(mutex_);  // most recently asked first
  // By ledger and number of entries.
  std::map<std::pair<std::string, uint64_t>, std::list<Point>::iterator> by_size_
      ABSL_GUARDED_BY(mutex_);
  std::map<std::string, uint64_t> whole_ ABSL_GUARDED_BY(mutex_);  // size of the longest whole one
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace dpledger::server
