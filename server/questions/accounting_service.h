// The AccountingService, without a transport: proto/dpledger/v1/accounting_service.proto says what
// each call means.
//
// Time and memory are bounded: a call ends at the caller's deadline, at `query_timeout`, when the
// caller cancels, or above `max_question_bytes`. Thread safe. Calls compute in the calling thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "accountant/limits.h"
#include "dpledger/v1/accounting_service.pb.h"
#include "ledger_store/store.h"
#include "questions/calls.h"
#include "questions/held_run.h"
#include "server/call_context.h"
#include "server/questions/subject_source.h"

namespace dpledger::server {

struct AccountingLimits {
  absl::Duration query_timeout = absl::Seconds(30);
  size_t max_question_bytes = size_t{1} << 30;   // that a question takes while it is answered
  size_t max_history_bytes = size_t{256} << 20;  // of ledgers' histories cached in memory
  double usual_delta = 1e-5;                     // of questions that state none
  bool of_one_server = true;                     // questions::SubjectOptions
};

// Which ledgers are over a data set. All of them, as of now; waits for the store until the
// deadline.
using LedgersOver = std::function<absl::StatusOr<std::vector<std::string>>(
    const std::string& dataset, absl::Time deadline)>;
// Whether the caller may ask about the ledger. Thread safe.
using MayAsk = std::function<bool(const Caller& caller, const std::string& ledger)>;
// Whether the caller may know how many ledgers there are over the data set. Thread safe.
using MayKnowOf = std::function<bool(const Caller& caller, const std::string& dataset)>;
// Hears of answers to ComputeEpsilon. Does not wait.
using OnEpsilon =
    std::function<void(const v1::ComputeEpsilonRequest&, const v1::ComputeEpsilonResponse&)>;
// What is known of the runs under budgets, of a moment ago. Thread safe; does not wait.
struct BudgetRuns {
  // What those under the budget have spent that have spent more than they were granted.
  std::function<std::vector<v1::FilterSpending>(const std::string& budget)> overspent;
  // What the run has spent; nullopt: not known yet.
  std::function<std::optional<v1::FilterSpending>(const std::string& ledger)> spending;
  // What the budget was refused for, the latest first.
  std::function<std::vector<v1::BudgetRefusal>(const std::string& budget)> refused;
};

class AccountingService {
 public:
  // `store` must outlive the service. `signed_root` gives the signed root of a ledger's prefix
  // (lineage.h).
  AccountingService(LedgerStore* store, const AccountingLimits& limits,
                    SignedRoot signed_root = nullptr, TableKeeping tables = {})
      : limits_(limits),
        store_(store),
        subjects_(store, limits.max_history_bytes, std::move(signed_root), std::move(tables),
                  limits.of_one_server) {}

  // Before any call: what questions about a data set need, and who hears of answers. Without the
  // first two such questions are UNIMPLEMENTED; without the third everybody may know.
  void Know(LedgersOver ledgers_over, MayAsk may_ask, MayKnowOf may_know_of, OnEpsilon on_epsilon,
            BudgetRuns runs) {
    ledgers_over_ = std::move(ledgers_over);
    may_ask_ = std::move(may_ask);
    may_know_of_ = std::move(may_know_of);
    on_epsilon_ = std::move(on_epsilon);
    runs_ = std::move(runs);
  }

  absl::StatusOr<v1::ComputeEpsilonResponse> ComputeEpsilon(
      const v1::ComputeEpsilonRequest& request, const CallContext& call);
  // ε of these ledgers together, however many: for the server's own lists.
  absl::StatusOr<v1::ComputeEpsilonResponse> EpsilonTogether(
      const std::vector<std::string>& ledgers, double delta, const CallContext& call);
  // Every other call about a subject; and ComputeEpsilon, without telling who hears of answers.
  template <typename Request>
  auto Answer(const Request& request, const CallContext& call) {
    const accountant::Limits limits = LimitsOf(call);
    const auto gather = [&](const v1::Subject& subject, uint64_t group_size) {
      return Gather(subject, group_size, call, limits);
    };
    return questions::AnswerCall(request, gather, limits);
  }
  absl::StatusOr<v1::ComputeBudgetResponse> ComputeBudget(const v1::ComputeBudgetRequest& request,
                                                          const CallContext& call);

  // For other services that answer about ledgers: they share the histories in memory, and the
  // bounds.
  SubjectSource& subjects() { return subjects_; }
  const AccountingLimits& limits() const { return limits_; }
  accountant::Limits LimitsOf(const CallContext& call) const;
  MayCount MayCountFor(const CallContext& call) const;
  // FAILED_PRECONDITION (BUDGET_EXCEEDED) if a run has spent more than a budget in the subject has
  // granted it, unless the question is of entries alone; or if that run is an ancestor of a fork in
  // it.
  absl::Status CheckBudgetsHold(const questions::Subject& subject, bool of_entries = false) const;

 private:
  absl::StatusOr<questions::Subject> Gather(const v1::Subject& subject, uint64_t group_size,
                                            const CallContext& call,
                                            const accountant::Limits& limits);
  absl::StatusOr<questions::Subject> OverDataset(const v1::Subject& subject, uint64_t group_size,
                                                 const CallContext& call,
                                                 const accountant::Limits& limits);

  // What is known of the runs that the caller may ask about, and the pace at which the budget was
  // granted of late.
  // Takes the fit back where the plan is less than its ledger has spent. FAILED_PRECONDITION
  // (NO_BUDGET) if that is not under the budget.
  absl::Status HoldToSpent(const v1::ComputeBudgetRequest& request, const CallContext& call,
                           const accountant::Limits& limits, v1::ComputeBudgetResponse& response);
  void AddRuns(const CallContext& call, v1::ComputeBudgetResponse& response) const;
  absl::Status AddPace(const Lineage& budget, const accountant::Limits& limits,
                       v1::ComputeBudgetResponse& response);
  // How many entries the ledger had at that time; at least one.
  absl::StatusOr<uint64_t> SizeAt(const v1::Ledger& ledger, absl::Time time);

  const AccountingLimits limits_;
  LedgerStore* const store_;
  SubjectSource subjects_;
  questions::UsesMemo budget_uses_;
  LedgersOver ledgers_over_;
  MayAsk may_ask_;
  MayKnowOf may_know_of_;
  OnEpsilon on_epsilon_;
  BudgetRuns runs_;
};

}  // namespace dpledger::server
