#include "server/questions/accounting_service.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "base/thread_bytes.h"
#include "events/field_checks.h"
#include "events/names.h"
#include "events/unknown_fields.h"
#include "questions/answer_budget.h"
#include "questions/answers.h"
#include "questions/calls.h"
#include "server/own_ledgers/own_ledgers.h"

namespace dpledger::server {

accountant::Limits AccountingService::LimitsOf(const CallContext& call) const {
  accountant::Limits limits;
  limits.deadline = std::min(call.deadline, absl::Now() + limits_.query_timeout);
  limits.cancelled = call.cancelled;
  limits.too_large = [most = limits_.max_question_bytes, before = BytesOfThread()] {
    return BytesOfThread() - before > static_cast<int64_t>(most);
  };
  return limits;
}

absl::StatusOr<questions::Subject> AccountingService::OverDataset(
    const v1::Subject& subject, uint64_t group_size, const CallContext& call,
    const accountant::Limits& limits) {
  const std::string& dataset = subject.dataset();
  if (!ledgers_over_) return absl::UnimplementedError("dataset: this server knows no data sets");
  if (!subject.ledgers().empty() || !subject.events().empty() || subject.up_to_sequence() != 0) {
    return FieldError("dataset", "must be empty where ledgers, events or up_to_sequence are given");
  }
  ASSIGN_OR_RETURN(std::vector<std::string> ledgers, ledgers_over_(dataset, limits.deadline));
  const size_t found = ledgers.size();
  std::erase_if(ledgers, IsOfServer);  // they say nothing of any data
  for (const std::string& ledger : ledgers) {
    if (may_ask_(call.caller, ledger)) continue;
    return WithReason(absl::PermissionDeniedError(
                          "dataset: there are ledgers over it that you may not ask about, and an "
                          "answer without them would be too low"),
                      {"DATASET_NOT_ALL_YOURS", {{"field", "dataset"}}});
  }
  if (ledgers.empty()) {
    return WithReason(absl::NotFoundError(absl::StrCat(
                          "dataset: no ledger on this server declares ", events::Quoted(dataset))),
                      {"DATASET_NOT_FOUND", {{"field", "dataset"}}});
  }
  // The count is the store's own: an answer that lacks a ledger would be too low.
  ASSIGN_OR_RETURN(const uint64_t declaring, store_->CountDeclaring(dataset));
  if (declaring > found) {
    return RetryAfter(absl::UnavailableError("dataset: a ledger over it was just made"),
                      "DATASET_CHANGED", absl::Seconds(1));
  }
  return subjects_.GatherAll(ledgers, group_size, limits);
}

MayCount AccountingService::MayCountFor(const CallContext& call) const {
  if (!may_know_of_) return nullptr;
  return [this, &call](const std::string& dataset) { return may_know_of_(call.caller, dataset); };
}

template <typename Request>
auto AccountingService::Answer(const Request& request, const CallContext& call) {
  const accountant::Limits limits = LimitsOf(call);
  const auto gather = [&](const v1::Subject& subject, uint64_t group_size) {
    return subject.dataset().empty()
               ? subjects_.Gather(subject, group_size, limits, MayCountFor(call))
               : OverDataset(subject, group_size, call, limits);
  };
  return questions::AnswerCall(request, gather, limits);
}

absl::StatusOr<v1::ComputeEpsilonResponse> AccountingService::ComputeEpsilon(
    const v1::ComputeEpsilonRequest& request, const CallContext& call) {
  auto answer = Answer(request, call);
  if (answer.ok() && on_epsilon_) on_epsilon_(request, *answer);
  return answer;
}

absl::StatusOr<v1::ComputeEpsilonResponse> AccountingService::EpsilonTogether(
    const std::vector<std::string>& ledgers, double delta, const CallContext& call) {
  const accountant::Limits limits = LimitsOf(call);
  ASSIGN_OR_RETURN(const questions::Subject subject,
                   subjects_.GatherAll(ledgers, /*group_size=*/0, limits));
  v1::ComputeEpsilonRequest request;
  request.set_delta(delta);
  return questions::AnswerEpsilon(subject, request, limits);
}

absl::StatusOr<v1::ComputeDeltaResponse> AccountingService::ComputeDelta(
    const v1::ComputeDeltaRequest& request, const CallContext& call) {
  return Answer(request, call);
}

absl::StatusOr<v1::CalibrateResponse> AccountingService::Calibrate(
    const v1::CalibrateRequest& request, const CallContext& call) {
  return Answer(request, call);
}

absl::StatusOr<v1::ComputeTuningCostResponse> AccountingService::ComputeTuningCost(
    const v1::ComputeTuningCostRequest& request, const CallContext& call) {
  return Answer(request, call);
}

absl::StatusOr<v1::ComputeProfileResponse> AccountingService::ComputeProfile(
    const v1::ComputeProfileRequest& request, const CallContext& call) {
  return Answer(request, call);
}

absl::StatusOr<v1::AuditClaimResponse> AccountingService::AuditClaim(
    const v1::AuditClaimRequest& request, const CallContext& call) {
  return Answer(request, call);
}

absl::StatusOr<v1::ComputeBudgetResponse> AccountingService::ComputeBudget(
    const v1::ComputeBudgetRequest& request, const CallContext& call) {
  RETURN_IF_ERROR(events::CheckNoUnknownFields(request));
  RETURN_IF_ERROR(events::CheckLedgerName("budget", request.budget()));
  const accountant::Limits limits = LimitsOf(call);
  ASSIGN_OR_RETURN(const Lineage lineage, subjects_.ReadLineage(request.budget(), limits));
  return questions::AnswerBudget(lineage[0].part(), request, limits, &budget_uses_);
}

}  // namespace dpledger::server
