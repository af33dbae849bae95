// Questions about ledgers that filters hold: the number is that of the filters they declared.
#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "events/grant_rules.h"
#include "questions/block_levels.h"
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

// What is said once the filter, or the ledger's grant, is crossed.
absl::Status CrossedBy(const v1::FilterSpending& spending, bool filter_holds) {
  if (filter_holds) return Overspent(spending);
  return WithReason(absl::FailedPreconditionError(absl::StrCat(
                        spending.ledger(), ": its filter ", spending.filter(),
                        " is crossed: ", spending.spent(), " spent of ", spending.bound(),
                        "; what the ledger declared did not hold, and no number is given for it")),
                    {kFilterCrossed,
                     {{"ledger", spending.ledger()},
                      {"budget", spending.budget()},
                      {"granted", absl::StrCat(spending.granted())},
                      {"spent", absl::StrCat(spending.spent())},
                      {"bound", absl::StrCat(spending.bound())}}});
}

// What rounding may hide.
constexpr double kMargin = 1e-9;

// The grant is compared by each measure, as the server kept it.
absl::Status DescribeGrant(const HeldLedger& ledger, const accountant::filter::Uses& uses,
                           accountant::Adjacency adjacency, const accountant::Limits& limits,
                           v1::FilterSpending& spending) {
  accountant::filter::Uses granted(MeasuresOf(ledger.filter), 0);
  if (!ledger.grants.empty()) {
    ASSIGN_OR_RETURN(granted, UsesOfPlan(ledger.filter, adjacency, ledger.grants[0], limits));
  }
  spending.set_granted(SpentBy(ledger.filter, granted));
  if (ledger.late_after_seal ||
      !std::equal(uses.begin(), uses.end(), granted.begin(),
                  [](double used, double most) { return used <= most * (1 + kMargin); })) {
    spending.set_crossed(true);
  }
  return absl::OkStatus();
}

// What the filters stand on, whatever was spent.
void Assume(const Subject& subject, v1::AnswerDetails& details) {
  const auto all = [&](auto&& is) {
    return std::all_of(subject.held.begin(), subject.held.end(), is);
  };
  details.add_assumptions(
      all([](const HeldLedger& ledger) { return ledger.kept_by_server; })
          ? "ADAPTIVE: the run releases what was acknowledged alone (FAIL_CLOSED), and the server "
            "acknowledges nothing that would cross the declared filter"
          : "ADAPTIVE: whatever the outputs, the run would have stopped before what it spends "
            "crossed the declared filter");
  if (!all([](const HeldLedger& ledger) { return !ledger.is_budget; })) {
    details.add_assumptions(
        "BUDGET: what is granted counts as spent, whether runs have used it or not");
  }
  if (!all([](const HeldLedger& ledger) { return ledger.budget.empty(); })) {
    details.add_assumptions(
        "BUDGET: runs under one budget are held together by its filter, each to what the budget "
        "has "
        "granted it; a run that is not under it is not part of that");
  }
  if (!all([](const HeldLedger& ledger) { return !ledger.has_blocks; })) {
    details.add_assumptions(
        "BUDGET: each unit is in one block of the budget for ever, whatever outputs show, and a "
        "run reads the units of its blocks alone; each block has the whole bound");
  }
  details.add_assumptions(
      "ADAPTIVE: the sample and the noise of a round, and of an epoch that shares its samples "
      "among rounds, are set before it releases anything");
}

v1::FilterSpending NothingSpent(const HeldLedger& ledger) {
  v1::FilterSpending spending;
  spending.set_ledger(ledger.name);
  spending.set_filter(accountant::filter::Name(ledger.filter));
  spending.set_bound(accountant::filter::BoundOf(ledger.filter));
  spending.set_budget(ledger.budget);
  return spending;
}

absl::StatusOr<v1::FilterSpending> SpendingOf(const HeldLedger& ledger,
                                              const accountant::Composition& composition,
                                              accountant::Adjacency adjacency,
                                              const accountant::Limits& limits) {
  const accountant::filter::Filter& filter = ledger.filter;
  v1::FilterSpending spending = NothingSpent(ledger);
  if (ledger.is_budget) {
    UsesMemo memo;
    ASSIGN_OR_RETURN(const BlockLevels levels,
                     LevelsOf(filter, ledger.has_blocks ? events::kMostBlocks : 1, ledger.grants,
                              UsesWithin(filter, adjacency, limits, &memo)));
    const double spent = FullestOf(levels, filter);
    spending.set_crossed(accountant::filter::Crossed(filter, spent));
    spending.set_spent(SaidOf(filter, spent));  // what it has set aside is no loss of any run
    return spending;
  }
  ASSIGN_OR_RETURN(const accountant::filter::Uses uses,
                   accountant::filter::UsesOf(filter, composition, limits));
  spending.set_spent(SpentBy(filter, uses));
  spending.set_crossed(accountant::filter::Crossed(filter, spending.spent()));
  if (!ledger.budget.empty()) {
    RETURN_IF_ERROR(DescribeGrant(ledger, uses, adjacency, limits, spending));
  }
  const auto* mixture = std::get_if<accountant::filter::MixtureFilter>(&filter);
  if (mixture == nullptr) return spending;
  ASSIGN_OR_RETURN(const double odometer,
                   accountant::filter::Odometer(*mixture, composition, limits));
  spending.set_odometer(odometer);
  spending.set_delta(mixture->delta);
  return spending;
}

}  // namespace

absl::Status Overspent(const v1::FilterSpending& spending) {
  return WithReason(
      absl::FailedPreconditionError(absl::StrCat(
          spending.ledger(), ": has spent ", spending.spent(), " of its budget ", spending.budget(),
          ", by some measure, or by what came after its seal, more than it was granted, ",
          spending.granted(),
          ": what the budget promises did not hold, and no number is given for it")),
      {kBudgetExceeded,
       {{"ledger", spending.ledger()},
        {"budget", spending.budget()},
        {"spent", absl::StrCat(spending.spent())},
        {"bound", absl::StrCat(spending.granted())}}});
}

absl::Status BudgetOverspent(const v1::FilterSpending& run) {
  return WithReason(absl::FailedPreconditionError(absl::StrCat(
                        run.budget(), ": is overspent: ", run.ledger(),
                        " has spent more than it was granted; what the budget promises did not "
                        "hold, and no number is given for it")),
                    {kBudgetExceeded, {{"ledger", run.ledger()}, {"budget", run.budget()}}});
}

absl::Status DescribeUnderBudget(const HeldLedger& ledger, v1::Adjacency declared,
                                 const accountant::Limits& limits, v1::AnswerDetails& details) {
  ASSIGN_OR_RETURN(const accountant::Adjacency adjacency, AdjacencyFromProto(declared));
  ASSIGN_OR_RETURN(const accountant::Composition composition,
                   accountant::Resolve(ledger.history, adjacency));
  absl::StatusOr<v1::FilterSpending> spending = SpendingOf(ledger, composition, adjacency, limits);
  if (ReasonOf(spending.status()).reason == kCannotCount) {
    // Late events alone get there: others are refused at append. What cannot be counted is no less
    // than all.
    spending = NothingSpent(ledger);
    spending->set_spent(std::numeric_limits<double>::infinity());
    spending->set_crossed(true);
  }
  RETURN_IF_ERROR(spending.status());
  if (spending->crossed()) details.add_warnings(std::string(Overspent(*spending).message()));
  *details.add_filter_spending() = *std::move(spending);
  return absl::OkStatus();
}

absl::StatusOr<HeldQuestion> AskHeld(const Subject& subject, const v1::AccountingOptions& options,
                                     const accountant::Limits& limits) {
  ASSIGN_OR_RETURN(ResolvedQuestion question, Begin(subject, options, limits));
  RETURN_IF_ERROR(CheckHeldOptions(subject, options));
  ASSIGN_OR_RETURN(const accountant::Adjacency adjacency, AdjacencyFromProto(subject.adjacency));
  v1::AnswerDetails& details = question.details;
  details.set_parameters(v1::ADAPTIVE);
  details.set_regime(v1::FILTER);
  details.set_adjacency(subject.adjacency);

  accountant::Composition together;  // of what all have to say, not of what they spend
  for (const HeldLedger& ledger : subject.held) {
    ASSIGN_OR_RETURN(const accountant::Composition composition,
                     accountant::Resolve(ledger.history, adjacency));
    v1::FilterSpending& spending = *details.add_filter_spending();
    ASSIGN_OR_RETURN(spending, SpendingOf(ledger, composition, adjacency, limits));
    if (spending.crossed()) {
      return CrossedBy(spending, !accountant::filter::Crossed(ledger.filter, spending.spent()));
    }
    together.schemes.insert(composition.schemes.begin(), composition.schemes.end());
    together.assumptions.insert(composition.assumptions.begin(), composition.assumptions.end());
    together.warnings.insert(composition.warnings.begin(), composition.warnings.end());
  }
  Assume(subject, details);
  DescribeComposition(together, details);
  details.add_warnings(
      "the number is that of the declared filter's whole bound; what was spent of it is no "
      "guarantee");
  if (std::any_of(subject.held.begin(), subject.held.end(), [](const HeldLedger& ledger) {
        return ledger.alone && (ledger.is_budget || !ledger.budget.empty());
      })) {
    details.add_warnings(kBudgetNotChecked);
  }
  ASSIGN_OR_RETURN(const accountant::filter::Filter total,
                   accountant::filter::Compose(FiltersOf(subject.held)));
  if (std::any_of(details.filter_spending().begin(), details.filter_spending().end(),
                  [](const v1::FilterSpending& spending) { return spending.delta() > 0; })) {
    details.add_warnings(
        "of the filter that an odometer keeps, what was spent speaks of the run that happened, "
        "with "
        "a probability of at least 1 - delta over its own outputs: it is no differential privacy, "
        "the declared bound is");
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
