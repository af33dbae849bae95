// Answers to questions, in the wire's messages, for a history that the caller has gathered: from
// ledgers (the server) or from an event file (the command line, offline). Both give the same answer
// because both call these functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "accountant/filter/filter.h"
#include "accountant/limits.h"
#include "accountant/mechanism/history.h"
#include "dpledger/v1/accounting_service.pb.h"
#include "dpledger/v1/ledger.pb.h"

namespace dpledger::questions {

// A ledger with the filter it declared.
struct HeldLedger {
  std::string name;
  accountant::filter::Filter filter;
  accountant::History history;
  // What would cross it was refused, before its release (docs/concepts.md).
  bool kept_by_server = false;
  bool is_budget = false;                    // `history` is what it set aside
  std::string budget = {};                   // that it is under: one filter for all its runs
  bool alone = false;                        // that budget is another server's, whatever its name
  std::vector<std::string> ancestors = {};   // of a fork, whose prefix was granted to them
  std::vector<v1::BudgetGrant> grants = {};  // of a run, its last one; of a budget, all
  bool late_after_seal = false;              // it had given back what was left
  bool has_blocks = false;                   // the budget: each has the whole bound
};
// Their filters, that of a budget once.
std::vector<accountant::filter::Filter> FiltersOf(const std::vector<HeldLedger>& held);

// A history and what was declared about it.
struct Subject {
  accountant::History history;
  // UNSPECIFIED when nothing was declared (events alone): ADD_OR_REMOVE_ONE and FIXED are then
  // assumed with warnings, unless the request's options say which.
  v1::Adjacency adjacency = v1::ADJACENCY_UNSPECIFIED;
  v1::Parameters parameters = v1::PARAMETERS_UNSPECIFIED;
  uint64_t planned_rounds = 0;  // 0 = not stated
  uint64_t entries = 0;         // for the answer
  std::vector<v1::LedgerReference> ledgers;
  // All ledgers of the history, if filters bound them: each is ADAPTIVE, or under a budget. Else
  // empty.
  std::vector<HeldLedger> held;
  // The one ledger of the history, if it is FIXED, and under a budget of its server.
  std::optional<HeldLedger> under_budget;
  // OK where plans or filters bound all ledgers together, or there is only one. Else why they do
  // not: FAILED_PRECONDITION (PLAN_NOT_INDEPENDENT, PARAMETERS_DIFFER, ADAPTIVE_NOT_ANALYSED naming
  // the ledger, or FILTERS_DIFFER). Then `parameters` is ADAPTIVE.
  absl::Status no_common_bound;
  bool has_budget = false;  // among the ledgers
  // From the gathering, e.g. a writer that may hold undelivered events.
  std::vector<std::string> warnings;
  // From the gathering, e.g. that a copied ledger is worth as much as the checkpoint that it names.
  std::vector<std::string> assumptions;
};

// The warning of a plan that was exceeded; `who` is "the ledger", or a name with a colon.
std::string MoreThanPlanned(std::string_view who, uint64_t rounds, uint64_t planned);

// Each checks its request (INVALID_ARGUMENT naming the field) and fills `details`. For ADAPTIVE
// ledgers, ε and δ are those of their declared filters (FAILED_PRECONDITION, reason FILTER_CROSSED,
// once one is crossed); all other questions about ADAPTIVE ones are refused (FAILED_PRECONDITION,
// reason ADAPTIVE_NOT_ANALYSED). For ledgers without a common bound, ε and δ are an odometer's, and
// all other questions are refused with `no_common_bound`. Asked `as_planned`, ε and δ of these are
// those of FIXED ones, and say that they are no guarantee; of budgets they are refused. The
// request's own `subject` is not read.
absl::StatusOr<v1::ComputeEpsilonResponse> Answer(const Subject& subject,
                                                  const v1::ComputeEpsilonRequest& request,
                                                  const accountant::Limits& limits);
absl::StatusOr<v1::ComputeDeltaResponse> Answer(const Subject& subject,
                                                const v1::ComputeDeltaRequest& request,
                                                const accountant::Limits& limits);
absl::StatusOr<v1::ComputeTuningCostResponse> Answer(const Subject& subject,
                                                     const v1::ComputeTuningCostRequest& request,
                                                     const accountant::Limits& limits);
// INVALID_ARGUMENT also for a request that asks for nothing or gives both lists.
absl::StatusOr<v1::ComputeProfileResponse> Answer(const Subject& subject,
                                                  const v1::ComputeProfileRequest& request,
                                                  const accountant::Limits& limits);
absl::StatusOr<v1::CalibrateResponse> Answer(const Subject& spent,
                                             const v1::CalibrateRequest& request,
                                             const accountant::Limits& limits);
// Compares the audit's lower bound with the subject's ε.
absl::StatusOr<v1::AuditClaimResponse> Answer(const Subject& subject,
                                              const v1::AuditClaimRequest& request,
                                              const accountant::Limits& limits);
// Without a subject: the data have been through nothing yet; the audit's bound is compared with
// nothing, and the request's options are not read.
absl::StatusOr<v1::CalibrateResponse> AnswerAlone(const v1::CalibrateRequest& request,
                                                  const accountant::Limits& limits);
absl::StatusOr<v1::AuditClaimResponse> AnswerAlone(const v1::AuditClaimRequest& request,
                                                   const accountant::Limits& limits);

// INVALID_ARGUMENT for options that questions about ε and δ alone take, as their number says
// nothing of what was released.
absl::Status CheckNotPlanned(const v1::AccountingOptions& options);

// The warning of an answer about a budget, or a run under one, of another server: nothing shows
// that all of its runs kept to their grants.
inline constexpr char kBudgetNotChecked[] =
    "BUDGET: whether each run under the budget kept to what it was granted is not known here, and "
    "the number holds only then: `dpledger budget verify` takes the bundles of all";

// Why a caller gets no total of a data set some of whose ledgers are not theirs to see.
inline constexpr char kNotAllYours[] = "DATASET_NOT_ALL_YOURS";
inline constexpr char kNotAllYoursText[] =
    "dataset: there are ledgers over it that you may not ask about, and an answer without them "
    "would be too low";

// Why nothing is said of a budget one of whose runs has spent that (reason BUDGET_EXCEEDED).
absl::Status Overspent(const v1::FilterSpending& spending);
// The same to who asks about its budget, and may not ask about the run: without the numbers.
absl::Status BudgetOverspent(const v1::FilterSpending& run);

// The software's version, which every answer states.
std::string Version();

}  // namespace dpledger::questions
