#include "server/questions/accounting_service.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "base/thread_bytes.h"
#include "events/names.h"
#include "events/unknown_fields.h"
#include "questions/answer_budget.h"
#include "questions/answers.h"
#include "server/own_ledgers/own_ledgers.h"

namespace dpledger::server {
namespace {

constexpr int kMostOverspent = 100;
constexpr absl::Duration kPaceOver = absl::Hours(30 * 24), kLeastPaceOver = absl::Hours(24);

}  // namespace

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
  if (!subject.ledgers().empty() || subject.up_to_sequence() != 0) {
    return FieldError("dataset", "must be empty where ledgers or up_to_sequence are given");
  }
  ASSIGN_OR_RETURN(std::vector<std::string> ledgers, ledgers_over_(dataset, limits.deadline));
  const size_t found = ledgers.size();
  std::erase_if(ledgers, IsOfServer);  // they say nothing of any data
  for (const std::string& ledger : ledgers) {
    if (may_ask_(call.caller, ledger)) continue;
    return WithReason(absl::PermissionDeniedError(questions::kNotAllYoursText),
                      {questions::kNotAllYours, {{"field", "dataset"}, {"dataset", dataset}}});
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
  return subjects_.GatherAll(ledgers, group_size, limits, subject.events());
}

MayCount AccountingService::MayCountFor(const CallContext& call) const {
  if (!may_know_of_) return nullptr;
  return [this, &call](const std::string& dataset) { return may_know_of_(call.caller, dataset); };
}

absl::StatusOr<questions::Subject> AccountingService::Gather(const v1::Subject& of,
                                                             uint64_t group_size,
                                                             const CallContext& call,
                                                             const accountant::Limits& limits) {
  if (!of.dataset().empty()) return OverDataset(of, group_size, call, limits);
  ASSIGN_OR_RETURN(questions::Subject subject,
                   subjects_.Gather(of, group_size, limits, MayCountFor(call)));
  RETURN_IF_ERROR(CheckBudgetsHold(subject, call.own));
  return subject;
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
  return questions::Answer(subject, request, limits);
}

absl::StatusOr<v1::ComputeBudgetResponse> AccountingService::ComputeBudget(
    const v1::ComputeBudgetRequest& request, const CallContext& call) {
  RETURN_IF_ERROR(events::CheckNoUnknownFields(request));
  RETURN_IF_ERROR(events::CheckLedgerName("budget", request.budget()));
  const accountant::Limits limits = LimitsOf(call);
  ASSIGN_OR_RETURN(const Lineage lineage, subjects_.ReadLineage(request.budget(), limits));
  ASSIGN_OR_RETURN(v1::ComputeBudgetResponse response,
                   questions::AnswerBudget(lineage[0].part(), request, limits, &budget_uses_));
  // The runs of a copy are on another server, whatever is called so here.
  if (!lineage[0].history->reader.first().has_import()) AddRuns(call, response);
  RETURN_IF_ERROR(HoldToSpent(request, call, limits, response));
  // As a grant is answered: but for those that it is to set right, none fits.
  if (request.plan_size() > 0 &&
      std::any_of(response.overspent().begin(), response.overspent().end(),
                  [&](const std::string& run) { return run != request.ledger(); })) {
    response.set_fits(false);
    response.clear_rounds_left();
    response.clear_with_more_noise();
  }
  // Without a pace the answer is an answer.
  if (const absl::Status known = AddPace(lineage, limits, response); !known.ok()) {
    response.clear_pace();
  }
  return response;
}

absl::Status AccountingService::HoldToSpent(const v1::ComputeBudgetRequest& request,
                                            const CallContext& call,
                                            const accountant::Limits& limits,
                                            v1::ComputeBudgetResponse& response) {
  const std::string& name = request.ledger();
  if (name.empty() || request.plan().empty() || !may_ask_(call.caller, name)) {
    return absl::OkStatus();
  }
  const absl::StatusOr<Lineage> run = subjects_.ReadLineage(name, limits);
  if (absl::IsNotFound(run.status())) return absl::OkStatus();  // it is still to be made
  RETURN_IF_ERROR(run.status());
  const questions::LedgerPart part = run->front().part();
  if (part.declaration().budget() != request.budget()) {
    return WithReason(absl::FailedPreconditionError(absl::StrCat(
                          "ledger: ", name, " is not under the budget ", request.budget())),
                      {"NO_BUDGET", {{"field", "ledger"}, {"ledger", name}}});
  }
  v1::BudgetGrant grant;
  *grant.mutable_plan() = request.plan();
  grant.set_ledger(name);
  ASSIGN_OR_RETURN(const bool holds, questions::HoldsWhatIsSpent(part, AncestorsOf(*run), grant,
                                                                 limits, &budget_uses_));
  if (holds) return absl::OkStatus();
  response.set_below_spent(true);
  response.set_fits(false);
  response.clear_rounds_left();
  response.clear_with_more_noise();
  return absl::OkStatus();
}

absl::Status AccountingService::CheckBudgetsHold(const questions::Subject& subject,
                                                 bool of_entries) const {
  if (!runs_.overspent) return absl::OkStatus();
  std::vector<questions::HeldLedger> held = subject.held;
  if (subject.under_budget.has_value()) held.push_back(*subject.under_budget);
  for (const questions::HeldLedger& one : held) {
    if (one.alone || (one.budget.empty() && !one.is_budget)) continue;
    for (const v1::FilterSpending& run : runs_.overspent(one.is_budget ? one.name : one.budget)) {
      const auto& ancestors = one.ancestors;
      const bool is_ancestor =
          std::find(ancestors.begin(), ancestors.end(), run.ledger()) != ancestors.end();
      if (is_ancestor) return questions::Overspent(run);
      if (one.is_budget && !of_entries) return questions::BudgetOverspent(run);
    }
  }
  return absl::OkStatus();
}

void AccountingService::AddRuns(const CallContext& call,
                                v1::ComputeBudgetResponse& response) const {
  if (!runs_.spending) return;
  for (const v1::FilterSpending& run : runs_.overspent(response.budget().name())) {
    if (response.overspent_size() < kMostOverspent) response.add_overspent(run.ledger());
  }
  for (const v1::BudgetGrant& grant : response.grants()) {
    if (!may_ask_(call.caller, grant.ledger())) continue;
    std::optional<v1::FilterSpending> spending = runs_.spending(grant.ledger());
    if (spending.has_value()) *response.add_runs() = *std::move(spending);
  }
  if (!runs_.refused) return;
  for (v1::BudgetRefusal& refusal : runs_.refused(response.budget().name())) {
    if (may_ask_(call.caller, refusal.ledger())) *response.add_refused() = std::move(refusal);
  }
}

absl::StatusOr<uint64_t> AccountingService::SizeAt(const v1::Ledger& ledger, absl::Time time) {
  // A clock that was set back may have left entries out of order: then one of the places.
  uint64_t size = 1, more = ledger.size() + 1;
  while (more - size > 1) {
    const uint64_t middle = size + (more - size) / 2;
    ASSIGN_OR_RETURN(const std::vector<std::string> read,
                     store_->Read(ledger.name(), middle - 1, /*max_entries=*/1, 1));
    v1::LedgerEntry entry;
    if (read.empty() || !entry.ParseFromString(read[0])) {
      return absl::DataLossError(
          absl::StrCat(ledger.name(), ": entry ", middle - 1, " cannot be read"));
    }
    (absl::FromUnixSeconds(entry.recorded_time().seconds()) <= time ? size : more) = middle;
  }
  return size;
}

absl::Status AccountingService::AddPace(const Lineage& budget, const accountant::Limits& limits,
                                        v1::ComputeBudgetResponse& response) {
  const questions::HistoryReader& reader = budget[0].history->reader;
  if (reader.sealed() || reader.first().has_import()) return absl::OkStatus();
  const absl::Time now = absl::Now();
  const absl::Time made = absl::FromUnixSeconds(budget[0].ledger.create_time().seconds());
  const absl::Time then = std::max(made, now - kPaceOver);
  if (now - then < kLeastPaceOver) return absl::OkStatus();
  ASSIGN_OR_RETURN(const uint64_t size, SizeAt(budget[0].ledger, then));
  ASSIGN_OR_RETURN(const Lineage earlier,
                   subjects_.ReadLineage(budget[0].ledger.name(), limits, size));
  ASSIGN_OR_RETURN(
      *response.mutable_pace(),
      questions::PaceOf(budget[0].part(), now, earlier[0].part(), then, limits, &budget_uses_));
  return absl::OkStatus();
}

}  // namespace dpledger::server
