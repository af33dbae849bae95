#include "questions/budget_check.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/absl_view.h"
#include "base/status.h"
#include "events/grant_rules.h"

namespace dpledger::questions {
namespace {

absl::Status Contradiction(const std::string& origin, const std::string& what) {
  return WithReason(absl::DataLossError(absl::StrCat(origin, ": ", what)),
                    {kBudgetDiffers, {{"origin", origin}}});
}

}  // namespace

std::string BudgetCheck::Record::OriginOf(std::string_view ledger) const {
  return absl::StrCat(registry, "/", ToAbsl(ledger));
}

v1::FilterSpending BudgetCheck::Record::Spending() const {
  v1::FilterSpending spending;
  const HeldRun& run = log.run();
  spending.set_ledger(origin);
  spending.set_filter(Name(run.filter()));
  spending.set_bound(BoundOf(run.filter()));
  spending.set_spent(SaidOf(run.filter(), run.Spent()));
  if (!run.terms().under_budget) return spending;
  spending.set_budget(log.declaration().budget());
  spending.set_granted(SaidOf(run.filter(), SpentBy(run.filter(), run.terms().granted.Total())));
  return spending;
}

std::vector<const v1::BudgetGrant*> BudgetCheck::Record::GrantsTo(const Record& run) const {
  std::vector<const v1::BudgetGrant*> grants;
  for (const v1::BudgetGrant& grant : log.grants()) {
    if (OriginOf(grant.ledger()) == run.origin) grants.push_back(&grant);
  }
  return grants;
}

void BudgetCheck::Begin(std::string origin, std::string registry) {
  Record& record = records_.emplace_back();
  record.origin = std::move(origin);
  record.registry = std::move(registry);
}

absl::Status BudgetCheck::Add(std::string_view entry) {
  Record& record = records_.back();
  if (!record.added.has_value() || record.added->ok()) record.added = record.log.Add(entry);
  return *record.added;
}

// Both tell of the same grants; a budget may tell of more, to a run that is sealed or whose record
// is older. And what the budget sets aside for the run is enough for what the run has spent.
absl::Status BudgetCheck::CheckRun(const Record& budget, const Record& run) {
  const v1::Declaration& declared = run.log.declaration();
  if (run.OriginOf(declared.budget()) != budget.origin) {
    return absl::InvalidArgumentError(absl::StrCat(run.origin, ": is under the budget ",
                                                   run.OriginOf(declared.budget()), ", not under ",
                                                   budget.origin, ": check it with that one"));
  }
  if (const char* field = events::NotOfBudget(budget.log.declaration(), declared)) {
    return Contradiction(run.origin, absl::StrCat("declaration.", field, " must be the budget's"));
  }
  const std::vector<const v1::BudgetGrant*> told = budget.GrantsTo(run);
  for (size_t i = 0; i < told.size(); ++i) {
    if (budget.OriginOf(told[i]->budget()) != budget.origin) {
      return Contradiction(run.origin, absl::StrCat("its grant ", i + 1, " is of another budget, ",
                                                    told[i]->budget()));
    }
    // A sealed run is not told of what it gives back: compared with what it declares.
    if (!events::SameBlocks(*told[i], declared)) {
      return Contradiction(run.origin, "is granted other blocks than it declares");
    }
  }
  const std::vector<v1::BudgetGrant>& grants = run.log.grants();
  for (size_t i = 0; i < std::min(told.size(), grants.size()); ++i) {
    if (told[i]->SerializeAsString() == grants[i].SerializeAsString()) continue;
    return Contradiction(run.origin,
                         absl::StrCat("its grant ", i + 1, " is not what the budget says"));
  }
  if (grants.size() > told.size()) {
    // The budget's record may also leave a grant out. Nothing here tells one from the other.
    return absl::FailedPreconditionError(
        absl::StrCat(run.origin, ": tells of ", grants.size(), " grants, and its budget of ",
                     told.size(), ": the budget's bundle is the older one; export it again"));
  }
  const absl::Status holds = run.log.CheckHolds(told.empty() ? v1::BudgetGrant() : *told.back());
  return holds.ok() ? holds : Contradiction(run.origin, std::string(holds.message()));
}

absl::StatusOr<const BudgetCheck::Record*> BudgetCheck::TheBudget() const {
  const Record* budget = nullptr;
  std::set<std::string> origins;
  for (const Record& record : records_) {
    if (!origins.insert(record.origin).second) {
      return absl::InvalidArgumentError(absl::StrCat(record.origin, ": is given twice"));
    }
    if (!record.log.run().terms().is_budget) continue;
    if (budget != nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(budget->origin, " and ", record.origin,
                                                     ": are two budgets; check one at a time"));
    }
    budget = &record;
  }
  if (budget != nullptr) return budget;
  return absl::InvalidArgumentError(
      "none of the ledgers is a budget: give the bundle of the budget that they are under");
}

absl::StatusOr<v1::BudgetVerified> BudgetCheck::Verify() const {
  for (const Record& record : records_) {
    const absl::Status added =
        record.added.value_or(absl::FailedPreconditionError("there are no entries"));
    if (added.ok()) continue;
    return WithReason(
        absl::Status(added.code(), absl::StrCat(record.origin, ": ", added.message())),
        ReasonOf(added));
  }
  ASSIGN_OR_RETURN(const Record* const budget, TheBudget());
  v1::BudgetVerified answer;
  answer.set_origin(budget->origin);
  answer.set_size(budget->log.run().size());
  *answer.mutable_spending() = budget->Spending();
  answer.set_grants(budget->log.grants().size());
  std::set<std::string> missing;
  for (const v1::BudgetGrant& grant : budget->log.grants()) {
    missing.insert(budget->OriginOf(grant.ledger()));
  }
  for (const Record& record : records_) {
    if (&record == budget) continue;
    RETURN_IF_ERROR(CheckRun(*budget, record));
    // A sealed run is not told of what it gives back.
    if (record.log.is_sealed() || budget->GrantsTo(record).size() == record.log.grants().size())
      missing.erase(record.origin);
    v1::BudgetVerified::Run& run = *answer.add_runs();
    run.set_origin(record.origin);
    run.set_size(record.log.run().size());
    *run.mutable_spending() = record.Spending();
  }
  for (const std::string& origin : missing) answer.add_missing(origin);
  return answer;
}

}  // namespace dpledger::questions
