// A ledger that a filter holds, entry by entry: what it has spent so far, and what a batch would
// add. It is what filter::Spent says of the same entries, or a little more (each part is
// taken at the direction in which it costs more): kept so that a batch takes the same time however
// long the run is.
//
//  1. What cannot change any more is settled: one sum. Of each writer the rounds that it may add to
//     are kept, and those of its present epoch, which counts as whole from its first round on.
//  2. Sums are exact (filter/tally.h): they do not depend on how the entries came in batches, but
//     for the order in which equal rounds list their sums.
//  3. A budget has spent what it set aside, in each of its blocks apart. A run under one is held to
//     what it was granted, by each measure of the filter; what its parent's prefix cost was granted
//     to the parent.
//  4. A part that is costly to work out is asked for once: equal rounds have one key.
// A value; thread safe as such.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "accountant/filter/filter.h"
#include "accountant/filter/tally.h"
#include "accountant/limits.h"
#include "accountant/mechanism/history.h"
#include "dpledger/v1/ledger.pb.h"
#include "questions/block_levels.h"
#include "questions/history_reader.h"

namespace dpledger::questions {

// The reason of a refusal: by more than its ledger's filter.
inline constexpr char kFilterCrossed[] = "FILTER_CROSSED";
// By what has no bound in the filter's terms (accountant/filter/filter.h).
inline constexpr char kCannotCount[] = "FILTER_CANNOT_COUNT";
// By more than is left of its ledger's budget.
inline constexpr char kBudgetExceeded[] = "BUDGET_EXCEEDED";
// By a block of the budget that was retired.
inline constexpr char kBlockRetired[] = "BLOCK_RETIRED";

// By a grant of less to a run that was sealed while writers were missing.
inline constexpr char kWritersMissing[] = "WRITERS_MISSING";

// What a part of a run uses of the filter (filter::UsesOf). Parts of one key are equal. `quick`:
// unsampled or Poisson-sampled Gaussians alone, some microseconds.
struct RunPart {
  std::string key;
  bool quick = false;
  absl::FunctionRef<accountant::History()> history;  // while the part is asked about
};
using UsesOfPart = std::function<absl::StatusOr<accountant::filter::Uses>(const RunPart&)>;

class HeldRun {
 public:
  // A run without entries.
  explicit HeldRun(const accountant::filter::Filter& filter);

  // Goes on from what `own` has read, and from the parent's prefixes if it is a fork, which count
  // as far as they went (3.). Precondition: nothing was taken. Errors are those of `uses_of`.
  absl::Status Begin(const HistoryReader& own, const std::vector<const HistoryReader*>& prefixes,
                     const UsesOfPart& uses_of);

  // What holds the ledger.
  struct Terms {
    v1::SpoolPolicy policy = v1::FAIL_CLOSED;  // that entry 0 declares
    bool is_budget = false;
    uint32_t blocks = 1;        // of a budget
    v1::RetiredBlocks retired;  // of which nothing more is granted
    bool under_budget = false;
    // Under a budget; from a seal on that names no writer missing, what the run had spent then.
    accountant::filter::Tally granted;
    // Sealed while writers were missing: what they may still bring stays granted.
    bool keeps_grant = false;
  };
  // What entries do, all of one writer.
  struct Step {
    std::string writer;  // of a grant, the ledger
    // After them (for Apply, before it): the run's entries and sum, and what is kept of the writer;
    // nullopt: nothing.
    struct Kept {
      v1::WriterStatus status;
      accountant::History::Parts open;
      accountant::filter::Tally used;
      size_t planned = 0;          // events, of a grant
      std::vector<Blocks> blocks;  // that it is of

      // Different sums of rounds that go on, and of epochs: a step takes time for each.
      size_t kinds() const;
      size_t bytes() const;  // of memory, about
    };
    std::optional<Kept> kept;
    accountant::filter::Tally total;  // of a grant, the plan's alone
    uint64_t size = 0;
    Terms terms;
    // One more round of the last kind that the entries released, if that is a kind of its own; of a
    // grant, of its plan's last event.
    std::optional<accountant::filter::Uses> one_more;
    accountant::filter::Tally rest;  // of a grant: the plan without its last event
    bool has_cost = false;           // one of the entries can spend something, or sets it aside
  };
  // What the plan comes to (a little more, so that a run whose noise is stated in other units still
  // has all of its rounds), and one more round of its last kind.
  absl::StatusOr<Step> PlanOf(const v1::BudgetGrant& grant, const UsesOfPart& uses_of) const;
  // As far as Take of a writer's entries goes, but for grants: cheap to copy.
  HeldRun Only(const std::string& writer) const;
  // Changes nothing. `entries` are their bytes. Precondition: they follow those that were taken.
  // Errors of HistoryReader::Add and of `uses_of`.
  absl::StatusOr<Step> Take(const std::vector<std::string_view>& entries,
                            const UsesOfPart& uses_of) const;
  absl::StatusOr<Step> Take(const v1::LedgerEntry& entry, const UsesOfPart& uses_of) const {
    return Take(std::vector<std::string_view>{entry.SerializeAsString()}, uses_of);
  }
  // Puts the step in place. Returns what takes it back, if that is applied before any other.
  Step Apply(Step step);

  // The first block in which the bound does not hold after the step, with a margin for rounding (1
  // of what has no blocks); nullopt: it holds, or the step adds nothing.
  std::optional<uint32_t> CrossedIn(const Step& step) const;
  // Whether the step takes away what missing writers may still bring.
  bool IsOwed(const Step& step) const {
    return terms_.keeps_grant && !terms_.granted.Within(step.terms.granted);
  }
  // The first retired block of which the step would grant more than before; nullopt: of none.
  std::optional<uint32_t> RetiredIn(const Step& step) const;
  // What is spent in that block before the step, and after it. Rounded up.
  double SpentIn(uint32_t block) const;
  double SpentInAfter(uint32_t block, const Step& step) const;
  // The filter's, or what the grant comes to.
  double BoundAfter(const Step& step) const;
  // Of a budget, in its fullest block.
  double Spent() const;
  double SpentAfter(const Step& step) const;
  // A budget's, after the step.
  BlockLevels LevelsAfter(const Step& step) const;
  const BlockLevels& levels() const { return levels_; }
  // How many rounds of step.one_more fit, at most 2^53; nullopt without one. Before the step; of a
  // grant, in place of its last event.
  std::optional<uint64_t> RoundsLeft(const Step& step) const;

  const Terms& terms() const { return terms_; }
  const accountant::filter::Filter& filter() const { return filter_; }
  uint64_t size() const { return size_; }
  size_t bytes() const { return bytes_ + levels_.bytes(); }  // of memory, about
  size_t BytesAfter(const Step& step) const;

 private:
  using Parts = accountant::History::Parts;

  absl::StatusOr<Step::Kept> Keep(Parts parts, v1::WriterStatus status, const UsesOfPart& uses_of,
                                  Step& into) const;
  absl::StatusOr<Step> TakeGrant(const v1::BudgetGrant& grant, const UsesOfPart& uses_of) const;

  // Without what the step takes the place of.
  BlockLevels LevelsWithout(const Step& step) const;

  accountant::filter::Filter filter_;
  uint64_t size_ = 0;
  Terms terms_;
  accountant::filter::Tally total_;  // of all, what is kept included; a budget has levels instead
  BlockLevels levels_;
  std::map<std::string, Step::Kept> writers_;
  size_t bytes_ = 0;
};

// What parts use, of any filter, as far as it was worked out: some 10^4 of them. Thread safe.
class UsesMemo {
 public:
  std::optional<accountant::filter::Uses> Find(const std::string& key);
  void Put(const std::string& key, const accountant::filter::Uses& uses);

 private:
  absl::Mutex mutex_;
  std::map<std::string, accountant::filter::Uses> known_ ABSL_GUARDED_BY(mutex_);
};

// What each part uses, whatever it takes. `memo` may be null.
UsesOfPart UsesWithin(const accountant::filter::Filter& filter, accountant::Adjacency adjacency,
                      const accountant::Limits& limits, UsesMemo* memo = nullptr);

// What is spent in the fullest block.
double FullestOf(const BlockLevels& levels, const accountant::filter::Filter& filter);

// What these grants set aside in a budget of so many blocks.
absl::StatusOr<BlockLevels> LevelsOf(const accountant::filter::Filter& filter, uint32_t blocks,
                                     const std::vector<v1::BudgetGrant>& grants,
                                     const UsesOfPart& uses_of);

// What the grant's plan comes to.
absl::StatusOr<accountant::filter::Uses> UsesOfPlan(const accountant::filter::Filter& filter,
                                                    accountant::Adjacency adjacency,
                                                    const v1::BudgetGrant& grant,
                                                    const accountant::Limits& limits);

}  // namespace dpledger::questions
