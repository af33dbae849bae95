// The answer to ComputeBudget: what is set aside of a budget, and whether a plan fits beside it.
// The server decides by the same sums (held_run.h) when a grant is asked for.
#pragma once

#include "absl/status/statusor.h"
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

}  // namespace dpledger::questions
