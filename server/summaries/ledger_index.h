// All ledgers of the store with their summaries, in memory: what lists, data sets and watches read.
// What they hold of a ledger is the store's own head, if that is in memory, and a summary: about 1
// KiB.
//
//  1. Derived: the store has the truth. LedgerTail brings the ledgers, Summariser the summaries.
//  2. A ledger never goes back here: one that is shorter than the one known is passed over.
//  3. Every change of a row gets the next number, so that whoever has seen the first n changes
//     finds the rows that changed since.
// Thread safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "dpledger/v1/ledger.pb.h"
#include "dpledger/v1/summary.pb.h"
#include "ledger/ledger_head.h"
#include "ledger_store/checkpoint_store.h"

namespace dpledger::server {

// Immutable.
struct LedgerRow {
  std::shared_ptr<const LedgerHead> head;            // with a few writers
  uint32_t writers = 0, open_writers = 0;            // of all, but for the server itself
  uint64_t late_entries = 0;                         // of the writers, where they are not too many
  std::shared_ptr<const v1::LedgerSummary> summary;  // null: there is none yet
  uint64_t change = 0;                               // the number of its last change
  uint32_t number = 0;                               // of the ledger, as long as the process runs
  bool has_uncounted_late = false;                   // some came that its summary does not have

  // Of a ledger without a summary.
  static LedgerRow Of(std::shared_ptr<const LedgerHead> head);
  const std::string& name() const { return head->name; }
  const v1::Declaration& declaration() const { return DeclarationOf(*head); }
  v1::LedgerState state() const { return head->state; }
  uint64_t size() const { return head->tree.size(); }
  // As lists show it, and others.
  v1::Ledger Described() const;
};
// Whether it is a ledger of "projects/p", or `parent` is "projects/-".
bool IsOf(const std::string& ledger, const std::string& parent);
using LedgerRows = std::vector<std::shared_ptr<const LedgerRow>>;
// Of rows that are read in order, before each one: fetches what lists read of the next few, which
// lie all over the memory.
void FetchAhead(const LedgerRows& rows, size_t place);

// Hears that rows have changed, or that a second has passed.
class IndexListener {
 public:
  virtual ~IndexListener() = default;
  // By one thread at a time; must not wait.
  virtual void OnIndex() = 0;
};

class LedgerIndex {
 public:
  // Whether that was news.
  bool PutLedger(std::shared_ptr<const LedgerHead> head);
  // Of a ledger that is there; in place of one of fewer entries.
  void PutSummary(std::shared_ptr<const v1::LedgerSummary> summary);

  // The ledgers that cannot be read at present, in place of those that were told before; by name.
  void SetDamaged(std::vector<DamagedLedger> damaged);
  std::vector<DamagedLedger> Damaged() const;

  // The data sets of its ledgers whose names are nearly that one (AreNearlySame), each with its
  // ledgers; none if the same one is among them.
  using Datasets = std::map<std::string, std::vector<std::string>>;
  Datasets NearlyCalled(const std::string& dataset) const;

  // What the runs under the budget have spent that have spent more than they were granted.
  std::vector<v1::FilterSpending> Overspent(const std::string& budget) const;
  // How many such runs there are, and how many open budgets of which 80 % and more are granted.
  size_t overspent() const;
  size_t nearly_full() const;

  // Null if there is none.
  std::shared_ptr<const LedgerRow> Find(const std::string& name) const;
  // The first `limit` ledgers of "projects/p", or of "projects/-", all of them; by name, after
  // `after`.
  LedgerRows Of(const std::string& parent, const std::string& after = "",
                size_t limit = SIZE_MAX) const;
  // At most `limit` rows that changed after the first `seen` changes, those that changed longest
  // ago first; and up to which change these are all.
  LedgerRows Since(uint64_t seen, size_t limit, uint64_t& reached) const;
  uint64_t changes() const;

  // A listener that is gone is forgotten.
  void Listen(const std::weak_ptr<IndexListener>& listener);
  void Tell();

 private:
  void Put(std::shared_ptr<LedgerRow> row) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NoteSpending(const LedgerRow& row) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable absl::Mutex mutex_;
  // By the heads' names.
  std::map<std::string_view, std::shared_ptr<const LedgerRow>> rows_ ABSL_GUARDED_BY(mutex_);
  // The last change of each row -> the row in `rows_`.
  std::map<uint64_t, const std::shared_ptr<const LedgerRow>*> by_change_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> datasets_ ABSL_GUARDED_BY(mutex_);  // that ledgers declare
  // By budget, and by ledger.
  std::map<std::string, std::map<std::string, v1::FilterSpending>> overspent_
      ABSL_GUARDED_BY(mutex_);
  std::set<std::string> nearly_full_ ABSL_GUARDED_BY(mutex_);  // budgets
  uint64_t changes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<DamagedLedger> damaged_ ABSL_GUARDED_BY(mutex_);

  absl::Mutex telling_;  // taken before mutex_; held while listeners are told
  std::vector<std::weak_ptr<IndexListener>> listeners_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace dpledger::server
