// The heads that this server saw last, so that an append does not read all writers of its ledger
// again.
//
//  1. A head says what the entries make of it: one that has the size and root of the ledger's row
//  is
//     the ledger's, whoever wrote the entries, and whatever became of the rows of its writers.
//  2. It holds ledgers of about 2^20 writers together (some 300 MB), and at least one.
// Thread safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "ledger/ledger_head.h"

namespace dpledger::postgres {

class HeadCache {
 public:
  explicit HeadCache(size_t most_writers = size_t{1} << 20) : most_writers_(most_writers) {}

  // Null if it has none.
  std::shared_ptr<const LedgerHead> Find(const std::string& ledger) {
    absl::MutexLock lock(&mutex_);
    const auto found = by_name_.find(ledger);
    if (found == by_name_.end()) return nullptr;
    used_.splice(used_.begin(), used_, found->second);
    return *found->second;
  }
  // In place of an older one, if there is memory for it. Drops those that were not used for the
  // longest time.
  void Put(std::shared_ptr<const LedgerHead> head) {
    absl::MutexLock lock(&mutex_);
    try {
      Heads newest = {std::move(head)};
      const LedgerHead& put = *newest.front();
      const auto [place, is_new] = by_name_.try_emplace(put.name, newest.begin());
      if (!is_new) {
        writers_ -= Weight(**place->second);
        used_.erase(std::exchange(place->second, newest.begin()));
      }
      writers_ += Weight(put);
      used_.splice(used_.begin(), newest);
    } catch (const std::bad_alloc&) {
      return;
    }
    while (writers_ > most_writers_ && used_.size() > 1) {
      writers_ -= Weight(*used_.back());
      by_name_.erase(used_.back()->name);
      used_.pop_back();
    }
  }

 private:
  using Heads = std::list<std::shared_ptr<const LedgerHead>>;

  // What a ledger counts for: a head without writers takes as much room as some.
  static size_t Weight(const LedgerHead& head) { return head.writers.size() + 4; }

  const size_t most_writers_;
  absl::Mutex mutex_;
  Heads used_ ABSL_GUARDED_BY(mutex_);  // the latest first
  std::map<std::string, Heads::iterator> by_name_ ABSL_GUARDED_BY(mutex_);
  size_t writers_ ABSL_GUARDED_BY(mutex_) = 0;
};

// The greatest counts of ledgers by data set that this server has read: a count never goes back,
// and a row that says less was put back. Thread safe.
class SeenCounts {
 public:
  void See(const std::string& dataset, uint64_t count) {
    absl::MutexLock lock(&mutex_);
    uint64_t& greatest = greatest_[dataset];
    if (greatest < count) greatest = count;
  }
  // 0 if none was read. What is read after this call is at least as great.
  uint64_t Greatest(const std::string& dataset) {
    absl::MutexLock lock(&mutex_);
    const auto found = greatest_.find(dataset);
    return found == greatest_.end() ? 0 : found->second;
  }

 private:
  absl::Mutex mutex_;
  std::map<std::string, uint64_t> greatest_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace dpledger::postgres
