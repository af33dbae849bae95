// Whether a budget was kept, from its own record and those of runs under it: each fitted its bound
// (held_log.h), and both sides tell of the same grants. The caller verifies where the records come
// from. Not thread safe.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "dpledger/v1/budget_check.pb.h"
#include "questions/held_log.h"

namespace dpledger::questions {

inline constexpr char kBudgetDiffers[] = "BUDGET_DIFFERS";

class BudgetCheck {
 public:
  // The next record, whose entries follow: the budget's or a run's, in any order. `origin`: of its
  // checkpoint; `registry`: of its server's registry (docs/formats.md, section 7).
  void Begin(std::string origin, std::string registry);
  // HeldLog::Add's errors; of that record it takes no more after one.
  absl::Status Add(std::string_view entry);

  // All of the answer but `verified`. The first error of Add, behind the record's origin;
  // INVALID_ARGUMENT unless exactly one of the records is a budget's and no record is there twice;
  // DATA_LOSS (kBudgetDiffers), with metadata `origin`, where a run and the budget contradict each
  // other.
  absl::StatusOr<v1::BudgetVerified> Verify() const;

 private:
  struct Record {
    // That the record's server gives the ledger of this name.
    std::string OriginOf(std::string_view ledger) const;
    v1::FilterSpending Spending() const;
    // What this budget says that it granted to the run, in order.
    std::vector<const v1::BudgetGrant*> GrantsTo(const Record& run) const;

    std::string origin, registry;
    HeldLog log;
    std::optional<absl::Status> added;  // the first error, or that of the last entry
  };
  static absl::Status CheckRun(const Record& budget, const Record& run);
  absl::StatusOr<const Record*> TheBudget() const;

  std::deque<Record> records_;
};

}  // namespace dpledger::questions
