// The answer to ComputeBudget: what is set aside of a budget, and whether a plan fits beside it.
// The server decides by the same sums (held_run.h) when a grant is asked for.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "accountant/limits.h"
#include "dpledger/v1/accounting_service.pb.h"
#include "questions/held_run.h"
#include "questions/subject.h"

namespace dpledger::questions {

// `budget` is the ledger that the request names. INVALID_ARGUMENT naming the field;
// FAILED_PRECONDITION: NO_BUDGET; FILTER_CANNOT_COUNT for a plan without a bound in the filter's
// measure. What was worked out is kept in `memo`: asked again, it goes on.
absl::StatusOr<v1::ComputeBudgetResponse> AnswerBudget(const LedgerPart& budget,
                                                       const v1::ComputeBudgetRequest& request,
                                                       const accountant::Limits& limits,
                                                       UsesMemo* memo = nullptr);

// Whether a run under a budget may be granted this instead of what it has: what it has spent, with
// what writers that its seal names may still bring, stays granted. `prefixes` are its ancestors'.
// Errors are those of AnswerBudget.
absl::StatusOr<bool> HoldsWhatIsSpent(const LedgerPart& run,
                                      const std::vector<const HistoryReader*>& prefixes,
                                      const v1::BudgetGrant& grant,
                                      const accountant::Limits& limits, UsesMemo* memo = nullptr);

// How fast the budget was granted since `then`, when it was `earlier`, and when that would fill it.
// Precondition: `earlier` is a prefix of it; then < now. Errors are those of AnswerBudget.
absl::StatusOr<v1::BudgetPace> PaceOf(const LedgerPart& budget, absl::Time now,
                                      const LedgerPart& earlier, absl::Time then,
                                      const accountant::Limits& limits, UsesMemo* memo = nullptr);

}  // namespace dpledger::questions
