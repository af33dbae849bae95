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
#include <list>
#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "ledger/ledger_head.h"

namespace dpledger::postgres {

class HeadCache {
 public:
  explicit HeadCache(size_t most_writers = size_t{1} << 20) : most_writers_(most_writers) {}

  // Null if it has none.
  std::shared_ptr<const LedgerHead> Find(const std::string& ledger);
  // In place of an older one, if there is memory for it. Drops those that were not used for the
  // longest time.
  void Put(std::shared_ptr<const LedgerHead> head);

 private:
  using Heads = std::list<std::shared_ptr<const LedgerHead>>;

  const size_t most_writers_;
  absl::Mutex mutex_;
  Heads used_ ABSL_GUARDED_BY(mutex_);  // the latest first
  std::map<std::string, Heads::iterator> by_name_ ABSL_GUARDED_BY(mutex_);
  size_t writers_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace dpledger::postgres
