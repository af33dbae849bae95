// Lists of ledgers in an order other than by name, kept while somebody reads them: a page of one
// costs what it shows and what has changed since the page before, not all ledgers again.
//
// A list holds the rows in their order as they were when it was last asked for. Those that have
// changed since are put where they belong then, without comparing the others. The eight lists that
// were asked for last are kept, 16 bytes a ledger each, and none that nobody has read for a minute.
// Thread safe.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/summaries/filter.h"
#include "server/summaries/ledger_index.h"

namespace dpledger::server {

// Immutable; in the order.
using OrderedRows = std::shared_ptr<const LedgerRows>;

class OrderedLists : public IndexListener {
 public:
  // `index` must outlive the object.
  explicit OrderedLists(const LedgerIndex* index) : index_(*index) {}

  // All ledgers of `parent`, as LedgerIndex::Of has them.
  OrderedRows Of(const std::string& parent, const ListOrder& order);
  // Lets go of what nobody reads.
  void OnIndex() override;

 private:
  struct Kept {
    Kept(std::string of, ListOrder by) : parent(std::move(of)), order(by) {}
    const std::string parent;
    const ListOrder order;
    absl::Time used;  // under the lists' mutex

    absl::Mutex mutex;
    OrderedRows rows ABSL_GUARDED_BY(mutex);
    uint64_t seen ABSL_GUARDED_BY(mutex) = 0;  // changes of the index
  };
  void Begin(Kept& kept) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(kept.mutex);
  // False: too many have changed.
  bool Follow(Kept& kept) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(kept.mutex);

  const LedgerIndex& index_;
  absl::Mutex mutex_;
  std::list<std::shared_ptr<Kept>> lists_ ABSL_GUARDED_BY(mutex_);  // the one used last first
};

// The first of these rows that stands behind `place`.
LedgerRows::const_iterator Behind(const ListOrder& order, const ListOrder::Place& place,
                                  LedgerRows::const_iterator first,
                                  LedgerRows::const_iterator last);

}  // namespace dpledger::server
