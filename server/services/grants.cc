#include "server/services/grants.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/hex.h"
#include "base/status.h"
#include "events/grant_rules.h"
#include "merkle/sha256.h"
#include "questions/declaration_values.h"
#include "questions/grant_plan.h"
#include "questions/held_run.h"
#include "server/questions/filter_gate.h"

namespace dpledger::server {
namespace {

constexpr absl::Duration kPause = absl::Milliseconds(10);

// Whether there are writers, and all of them have closed.
bool HaveClosed(questions::HistoryReader::Writers writers) {
  writers.erase("");  // the server's own entries
  return !writers.empty() && std::all_of(writers.begin(), writers.end(),
                                         [](const auto& writer) { return writer.second.closed(); });
}

// What the ledger was granted; nothing if it is granted nothing.
v1::BudgetGrant PresentGrant(const questions::HistoryReader& budget, const std::string& ledger) {
  const auto present = budget.grants().find(ledger);
  return present == budget.grants().end() ? v1::BudgetGrant() : present->second;
}

absl::StatusOr<questions::Plan> WhatIsSpent(const v1::GrantBudgetRequest& request,
                                            const questions::HistoryReader& reader) {
  if (!request.plan().empty()) {
    return FieldError("plan", "must be empty where what is spent is granted");
  }
  if (reader.sealed() && !reader.seal().was_whole) {
    return WithReason(absl::FailedPreconditionError(
                          absl::StrCat("ledger: ", request.ledger(),
                                       " was sealed while writers were missing: what they may "
                                       "still bring stays granted")),
                      {questions::kWritersMissing, {{"ledger", request.ledger()}}});
  }
  if (reader.sealed() || HaveClosed(reader.writers())) return questions::PlanOf(reader.history());
  return WithReason(absl::FailedPreconditionError(absl::StrCat(
                        "ledger: ", request.ledger(),
                        " goes on: what it does not spend is given back once its writers have "
                        "closed, or it is sealed")),
                    {"WRITERS_OPEN", {{"ledger", request.ledger()}}});
}

// A plan may say more than its ledger holds, as of epochs whose rounds have more than one noise.
absl::Status CheckIsNoMore(const v1::Declaration& budget, const v1::BudgetGrant& present,
                           const questions::Plan& plan, const accountant::Limits& limits) {
  ASSIGN_OR_RETURN(const auto filter, questions::FilterFromProto(budget.filter()));
  ASSIGN_OR_RETURN(const auto adjacency, questions::AdjacencyFromProto(budget.adjacency()));
  v1::BudgetGrant wanted;
  wanted.mutable_plan()->Assign(plan.begin(), plan.end());
  ASSIGN_OR_RETURN(const auto before, questions::UsesOfPlan(filter, adjacency, present, limits));
  ASSIGN_OR_RETURN(const auto after, questions::UsesOfPlan(filter, adjacency, wanted, limits));
  for (size_t i = 0; i < after.size(); ++i) {
    if (after[i] <= before[i]) continue;
    return WithReason(
        absl::FailedPreconditionError(absl::StrCat(
            "ledger: ", present.ledger(),
            " has nothing to give back: a plan of what it holds comes to more than it is granted")),
        {"NOTHING_TO_GIVE_BACK", {{"ledger", present.ledger()}}});
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<GrantAtSize> Grants::WorkOut(const v1::GrantBudgetRequest& request,
                                            const accountant::Limits& limits) {
  ASSIGN_OR_RETURN(const Lineage budgets, subjects_->ReadLineage(request.budget(), limits));
  const questions::HistoryReader& budget = budgets[0].history->reader;
  const v1::BudgetGrant present = PresentGrant(budget, request.ledger());
  GrantAtSize worked_out{request, {}, budget.size()};
  if (request.change() == v1::GRANT_MORE) {
    ASSIGN_OR_RETURN(worked_out.plan,
                     questions::PlanWith({present.plan().begin(), present.plan().end()},
                                         {request.plan().begin(), request.plan().end()}));
  } else {
    ASSIGN_OR_RETURN(const Lineage ledgers, subjects_->ReadLineage(request.ledger(), limits));
    ASSIGN_OR_RETURN(worked_out.plan, WhatIsSpent(request, ledgers[0].history->reader));
    RETURN_IF_ERROR(CheckIsNoMore(budget.first().declaration(), present, worked_out.plan, limits));
  }
  v1::BudgetGrant whole;
  whole.mutable_plan()->Assign(worked_out.plan.begin(), worked_out.plan.end());
  RETURN_IF_ERROR(events::CheckPlan(whole.plan()));
  return worked_out;
}

absl::StatusOr<v1::Receipt> Grants::Make(const v1::GrantBudgetRequest& request,
                                         const std::string& caller,
                                         const accountant::Limits& limits) {
  RETURN_IF_ERROR(events::CheckPlan(request.plan()));
  if (!v1::GrantChange_IsValid(request.change())) {
    return FieldError("change", absl::StrCat("must be one of GrantChange, got ", request.change()));
  }
  if (request.change() == v1::GRANT_PLAN) return store_.Grant(request, caller);
  if (subjects_ == nullptr) {
    return absl::UnimplementedError("change: only whole plans are taken here");
  }
  while (true) {
    ASSIGN_OR_RETURN(const GrantAtSize worked_out, WorkOut(request, limits));
    absl::StatusOr<v1::Receipt> receipt = store_.Grant(worked_out, caller);
    if (ReasonOf(receipt.status()).reason != kBudgetChanged) return receipt;
    RETURN_IF_ERROR(limits.Check());
  }
}

void Grants::GiveBack(const v1::SealLedgerRequest& seal, const std::string& budget,
                      const std::string& caller, const accountant::Limits& limits) {
  v1::GrantBudgetRequest rest;
  rest.set_budget(budget);
  rest.set_ledger(seal.name());
  // Of the budget's requests: another ledger may have been sealed by this one's id.
  rest.set_request_id(
      HexEncode(merkle::ToBytes(merkle::Sha256({"seal ", seal.name(), " ", seal.request_id()}))));
  rest.set_reason("sealed: what it has not spent is given back");
  rest.set_change(v1::GRANT_WHAT_IS_SPENT);
  while (true) {
    const auto receipt = Make(rest, caller, limits);
    if (ReasonOf(receipt.status()).reason != kFilterNotReady || !limits.Check().ok()) return;
    absl::SleepFor(kPause);
  }
}

}  // namespace dpledger::server
