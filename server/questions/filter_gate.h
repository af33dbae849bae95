// Refuses, at append, what would cross the filter that a ledger declares, or its budget.
//
//  1. Asked about: ledgers with a filter under FAIL_CLOSED, where nothing is released that
//     was not acknowledged; of budgets and of runs under one, grants and events. Under SPOOL, in a
//     copy, and in late events stands what was released: that is recorded, whatever it costs, and
//     the answer says that the filter is crossed.
//  2. A refused batch adds nothing. One that adds no cost is never refused.
//  3. Derived: the sums are in memory, each for one head by its root, and read again from the
//     entries when they are not there. Nothing of them is stored that somebody could change.
//  4. Commit threads wait for nothing: what takes long is worked out by a thread of its own, and
//     the batch is refused until then (ABORTED, reason FILTER_NOT_READY: it is to be sent again).
// Thread safe.
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "ledger_store/store.h"
#include "merkle/compact_tree.h"
#include "questions/held_run.h"
#include "server/questions/budget_refusals.h"
#include "server/questions/subject_source.h"

namespace dpledger::server {

inline constexpr char kFilterNotReady[] = "FILTER_NOT_READY";

class FilterGate : public AppendGate {
 public:
  FilterGate() = default;
  ~FilterGate() override { Stop(); }

  // Where ledgers are read again, until Stop; it must outlive that. Once.
  void Start(SubjectSource* subjects);
  // From now on nothing more is worked out. Waits for what is under way.
  void Stop();

  // What it has refused of budgets.
  const BudgetRefusals& refusals() const { return refusals_; }

  bool Guards(const LedgerHead& head) const override;
  std::shared_ptr<Ahead> WorkAhead(const LedgerHead& head, const LedgerChange& change) override;
  absl::Status Admit(const LedgerHead& head, const LedgerChange& change, std::string_view caller,
                     LedgerReader& reader, Ahead* ahead) override;

 private:
  using Step = questions::HeldRun::Step;
  // A ledger's run, as of `tree`.
  struct Metered {
    questions::HeldRun run;
    merkle::CompactTree tree;
    // What takes the last batches back, newest first: a commit that failed is tried again.
    std::deque<std::pair<Step, merkle::CompactTree>> back;
    absl::Status uncountable;  // why nothing can be said of what the ledger holds
    absl::Time uncountable_until = absl::InfinitePast();
  };
  // A ledger's own terms, as far as costs depend on them.
  struct Terms {
    std::string ledger;
    accountant::filter::Filter filter;
    accountant::Adjacency adjacency;
    std::string key;
  };
  struct Work {
    std::string party;
    Terms terms;
    bool read = false;                                                           // the ledger anew
    bool turn_is_over = false;                                                   // of reading it
    std::map<std::string, absl::StatusOr<accountant::filter::Uses>> read_parts;  // by KeyOf
    absl::Time began = absl::InfinitePast();                         // of working parts out in line
    size_t done = 0;                                                 // of the parts
    std::vector<std::pair<std::string, accountant::History>> parts;  // by KeyOf
  };
  // What the store asks about.
  struct Batch {
    const LedgerHead& head;
    const LedgerChange& change;
    std::string_view caller;
    std::optional<Step> step = std::nullopt;  // if it was worked out ahead
  };
  struct StepAhead : Ahead {
    std::optional<Step> step;
    merkle::CompactTree tree;  // of the run that it follows
  };
  using Known = absl::StatusOr<accountant::filter::Uses>;
  using Parts = std::map<std::string, Known>;  // by KeyOf
  // What callers work out ahead from, who share no lock with the commit thread: with 64 callers on
  // two cores, each that was preempted within one held all the others up.
  struct Latest {
    Terms terms;
    std::string writer;      // of the last batch
    questions::HeldRun run;  // of that writer alone
    merkle::CompactTree tree;
    std::shared_ptr<const Parts> parts;  // that its batches asked for
  };

  struct Place {
    Terms terms;
    Metered metered;
    std::list<std::string>::iterator recent;
    size_t bytes = 0;  // as bytes_ counts it
  };

  std::atomic<std::shared_ptr<const Latest>>& LatestOf(const std::string& ledger);
  void Publish(const Batch& batch, const Place& place, Parts asked);
  absl::Status Take(Batch& batch, LedgerReader& reader) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NoteRefusal(const Batch& batch, const questions::HeldRun& run, const Step& step);
  // Gives a run up that takes too much memory.
  static void Bound(Metered& metered);
  static void SetUncountable(const absl::Status& why, Metered& metered);
  static absl::StatusOr<Terms> TermsOf(const LedgerHead& head);
  // Brings the ledger to `head`; null if that takes long.
  absl::StatusOr<Place*> Find(const LedgerHead& head, LedgerReader& reader, Work& work)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes the entries between; false if that takes long, or they do not lead to the head.
  bool CatchUp(const LedgerHead& head, LedgerReader& reader, Place& place, Work& work)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Known uses, or quick ones. Others become `work`, and count nothing meanwhile.
  questions::UsesOfPart Quick(const Terms& terms, Work& work, Parts* asked = nullptr)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status NotReady(const Batch& batch, Work work) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Keep(const Terms& terms, Metered metered) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Forget(std::string ledger) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Counts what the ledger takes now; others that were not asked for lately go.
  void Weigh(Place& place) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static std::string KeyOf(const Terms& terms, const std::string& part);
  Known* FindKnown(const std::string& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Remember(const std::string& key, Known uses) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  void WorkUntilStopped();
  // For a turn; false if there is more of it.
  bool Do(Work& work);
  // Of a part, whatever it takes up to a second.
  Known UsesOf(const Terms& terms, const accountant::History& history);
  // Until `end`, unless turn_is_over.
  absl::StatusOr<Metered> ReadAnew(Work& work, absl::Time end);

  BudgetRefusals refusals_;
  // By a hash of the ledger's name; of two that meet, the later one has it.
  std::array<std::atomic<std::shared_ptr<const Latest>>, 1024> latest_;
  SubjectSource* subjects_ = nullptr;
  std::atomic<bool> stopping_ = false;
  absl::Mutex mutex_;
  std::map<std::string, Place> ledgers_ ABSL_GUARDED_BY(mutex_);
  std::list<std::string> recent_ ABSL_GUARDED_BY(mutex_);  // latest first
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  // By a hash of the part; the earlier ones are forgotten together.
  std::map<std::string, Known> known_ ABSL_GUARDED_BY(mutex_), known_before_
      ABSL_GUARDED_BY(mutex_);
  std::list<std::shared_ptr<Work>> work_ ABSL_GUARDED_BY(mutex_);  // in turns
  std::thread thread_;
};

}  // namespace dpledger::server
