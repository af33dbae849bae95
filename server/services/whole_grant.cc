#include "server/services/whole_grant.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "events/grant_rules.h"
#include "questions/grant_plan.h"

namespace dpledger::server {

namespace {

// Whether there are writers, and all of them have closed.
bool HaveClosed(questions::HistoryReader::Writers writers) {
  writers.erase("");  // the server's own entries
  return !writers.empty() && std::all_of(writers.begin(), writers.end(),
                                         [](const auto& writer) { return writer.second.closed(); });
}

absl::StatusOr<questions::Plan> WithMore(const v1::GrantBudgetRequest& request,
                                         const questions::HistoryReader& reader) {
  questions::Plan present;
  for (const auto& [ledger, grant] : reader.grants()) {  // its own, if any
    present.assign(grant.plan().begin(), grant.plan().end());
  }
  return questions::PlanWith(present, {request.plan().begin(), request.plan().end()});
}

absl::StatusOr<questions::Plan> WhatIsSpent(const v1::GrantBudgetRequest& request,
                                            const questions::HistoryReader& reader) {
  if (!request.plan().empty()) {
    return FieldError("plan", "must be empty where what is spent is granted");
  }
  if (reader.sealed() || HaveClosed(reader.writers())) return questions::PlanOf(reader.history());
  return WithReason(absl::FailedPreconditionError(absl::StrCat(
                        "ledger: ", request.ledger(),
                        " goes on: what it does not spend is given back once its writers have "
                        "closed, or it is sealed")),
                    {"WRITERS_OPEN", {{"ledger", request.ledger()}}});
}

}  // namespace

absl::StatusOr<v1::GrantBudgetRequest> WholeGrant(const v1::GrantBudgetRequest& request,
                                                  SubjectSource* subjects,
                                                  const accountant::Limits& limits) {
  RETURN_IF_ERROR(events::CheckPlan(request.plan()));
  if (!v1::GrantChange_IsValid(request.change())) {
    return FieldError("change", absl::StrCat("must be one of GrantChange, got ", request.change()));
  }
  if (request.change() == v1::GRANT_PLAN) return request;
  if (subjects == nullptr) {
    return absl::UnimplementedError("change: only whole plans are taken here");
  }
  ASSIGN_OR_RETURN(const Lineage lineage, subjects->ReadLineage(request.ledger(), limits));
  const questions::HistoryReader& reader = lineage[0].history->reader;
  v1::GrantBudgetRequest whole = request;
  whole.clear_change();
  ASSIGN_OR_RETURN(const questions::Plan plan, request.change() == v1::GRANT_MORE
                                                   ? WithMore(request, reader)
                                                   : WhatIsSpent(request, reader));
  whole.mutable_plan()->Assign(plan.begin(), plan.end());
  RETURN_IF_ERROR(events::CheckPlan(whole.plan()));
  return whole;
}

}  // namespace dpledger::server
