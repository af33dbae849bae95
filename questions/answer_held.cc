// Questions about ADAPTIVE ledgers: the number is that of the filters they declared.
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "questions/declaration_values.h"
#include "questions/held_run.h"
#include "questions/resolved_question.h"

namespace dpledger::questions {
namespace {

// A filter bounds one record's loss under the declared adjacency, by its own method.
absl::Status CheckHeldOptions(const Subject& subject, const v1::AccountingOptions& options) {
  if (options.parameters() != v1::PARAMETERS_UNSPECIFIED && options.parameters() != v1::ADAPTIVE) {
    return FieldError("options.parameters", "is for events alone; the ledger declares ADAPTIVE");
  }
  if (options.adjacency() != v1::ADJACENCY_UNSPECIFIED &&
      options.adjacency() != subject.adjacency) {
    return FieldError(
        "options.adjacency",
        absl::StrCat("must be the declared one, ", v1::Adjacency_Name(subject.adjacency),
                     ", for ADAPTIVE ledgers: their filter bounds no other"));
  }
  if (options.group_size() > 1) {
    return FieldError("options.group_size",
                      absl::StrCat("must be at most 1 for ADAPTIVE ledgers: their filter bounds "
                                   "single records, got ",
                                   options.group_size()));
  }
  return absl::OkStatus();
}

absl::Status Crossed(const HeldLedger& ledger, const accountant::filter::Filter& filter,
                     double spent) {
  return WithReason(absl::FailedPreconditionError(absl::StrCat(
                        ledger.name, ": its filter ", accountant::filter::Name(filter),
                        " is crossed: ", spent, " spent of ", accountant::filter::BoundOf(filter),
                        "; what the ledger declared did not hold, and no number is given for it")),
                    {kFilterCrossed,
                     {{"ledger", ledger.name},
                      {"spent", absl::StrCat(spent)},
                      {"bound", absl::StrCat(accountant::filter::BoundOf(filter))}}});
}

}  // namespace

absl::StatusOr<HeldQuestion> AskHeld(const Subject& subject, const v1::AccountingOptions& options,
                                     const accountant::Limits& limits) {
  ASSIGN_OR_RETURN(ResolvedQuestion question, Begin(subject, options, limits));
  RETURN_IF_ERROR(CheckHeldOptions(subject, options));
  ASSIGN_OR_RETURN(const accountant::Adjacency adjacency, AdjacencyFromProto(subject.adjacency));
  v1::AnswerDetails& details = question.details;
  details.set_parameters(v1::ADAPTIVE);
  details.set_regime(v1::FILTER);
  details.set_adjacency(subject.adjacency);

  std::vector<accountant::filter::Filter> filters;
  accountant::Composition together;  // of what all have to say, not of what they spend
  bool all_kept = true;
  for (const HeldLedger& ledger : subject.held) {
    const accountant::filter::Filter& filter = ledger.filter;
    ASSIGN_OR_RETURN(const accountant::Composition composition,
                     accountant::Resolve(ledger.history, adjacency));
    ASSIGN_OR_RETURN(const double spent, accountant::filter::Spent(filter, composition, limits));
    if (accountant::filter::Crossed(filter, spent)) return Crossed(ledger, filter, spent);
    v1::FilterSpending& spending = *details.add_filter_spending();
    spending.set_ledger(ledger.name);
    spending.set_filter(accountant::filter::Name(filter));
    spending.set_bound(accountant::filter::BoundOf(filter));
    spending.set_spent(spent);
    if (const auto* mixture = std::get_if<accountant::filter::MixtureFilter>(&filter)) {
      ASSIGN_OR_RETURN(const double odometer,
                       accountant::filter::Odometer(*mixture, composition, limits));
      spending.set_odometer(odometer);
      spending.set_delta(mixture->delta);
    }
    filters.push_back(filter);
    all_kept = all_kept && ledger.kept_by_server;
    together.schemes.insert(composition.schemes.begin(), composition.schemes.end());
    together.assumptions.insert(composition.assumptions.begin(), composition.assumptions.end());
    together.warnings.insert(composition.warnings.begin(), composition.warnings.end());
  }
  details.add_assumptions(
      all_kept ? "ADAPTIVE: the run releases what was acknowledged alone (FAIL_CLOSED), and the "
                 "server acknowledges nothing that would cross the declared filter"
               : "ADAPTIVE: whatever the outputs, the run would have stopped before what it spends "
                 "crossed the declared filter");
  details.add_assumptions(
      "ADAPTIVE: the sample and the noise of a round, and of an epoch that shares its samples "
      "among "
      "rounds, are set before it releases anything");
  DescribeComposition(together, details);
  details.add_warnings(
      "the number is that of the declared filter's whole bound; what was spent of it is no "
      "guarantee");
  ASSIGN_OR_RETURN(const accountant::filter::Filter total, accountant::filter::Compose(filters));
  if (std::holds_alternative<accountant::filter::MixtureFilter>(total)) {
    details.add_warnings(
        "an odometer bounds the privacy loss of the run that happened, at all times, with a "
        "probability of at least 1 - delta over its own outputs; it is no differential privacy");
  }
  const accountant::Method method = question.options.method;
  if (method != accountant::Method::kBest && method != accountant::filter::MethodOf(total)) {
    return WithReason(absl::FailedPreconditionError(absl::StrCat(
                          "method ", accountant::MethodName(method), ": the filter ",
                          accountant::filter::Name(total), " is answered by ",
                          accountant::MethodName(accountant::filter::MethodOf(total)), " only")),
                      {"METHOD_DOES_NOT_APPLY", {{"method", accountant::MethodName(method)}}});
  }
  return HeldQuestion{total, std::move(details)};
}

}  // namespace dpledger::questions
