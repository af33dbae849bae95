#include "questions/held_log.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "events/declaration_rules.h"
#include "questions/declaration_values.h"

namespace dpledger::questions {

absl::Status HeldLog::Begin(const v1::LedgerEntry& first) {
  declaration_ = events::DeclarationOf(first);
  const bool is_held = declaration_.kind() == v1::BUDGET || !declaration_.budget().empty();
  if (!is_held || first.has_import()) {
    return WithReason(absl::FailedPreconditionError(
                          first.has_import() ? "is a copy: the original's record says what was kept"
                                             : "is no budget, and under none"),
                      {"NO_BUDGET", {}});
  }
  ASSIGN_OR_RETURN(const accountant::filter::Filter filter, FilterFromProto(declaration_.filter()));
  ASSIGN_OR_RETURN(const accountant::Adjacency adjacency,
                   AdjacencyFromProto(declaration_.adjacency()));
  run_.emplace(filter);
  uses_of_ = UsesWithin(filter, adjacency, {}, &known_);
  return absl::OkStatus();
}

absl::Status HeldLog::Add(std::string_view bytes) {
  v1::LedgerEntry entry;
  if (!entry.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::DataLossError("its bytes are no entry");
  }
  const uint64_t sequence = entry.sequence();
  if (!run_.has_value()) RETURN_IF_ERROR(Begin(entry));
  if (entry.has_grant()) grants_.push_back(entry.grant());
  if (entry.has_granted()) grants_.push_back(entry.granted());
  is_sealed_ = is_sealed_ || entry.has_seal();
  if (declaration_.kind() == v1::BUDGET && (entry.has_event() || entry.has_late_event())) {
    return WithReason(
        absl::FailedPreconditionError(absl::StrCat("entry ", sequence, ": a budget has no events")),
        {"BUDGET_ONLY", {{"sequence", absl::StrCat(sequence)}}});
  }
  ASSIGN_OR_RETURN(HeldRun::Step step, run_->Take({bytes}, uses_of_));
  if (const auto block = run_->RetiredIn(step); block.has_value()) {
    return WithReason(
        absl::FailedPreconditionError(absl::StrCat("entry ", sequence, ": grants more of block ",
                                                   *block, ", which was retired before")),
        {kBlockRetired, {{"sequence", absl::StrCat(sequence)}}});
  }
  if (const auto block = run_->CrossedIn(step); block.has_value()) {
    return WithReason(
        absl::FailedPreconditionError(absl::StrCat(
            "entry ", sequence, ": ", run_->SpentInAfter(*block, step), " of ",
            run_->BoundAfter(step),
            run_->terms().blocks > 1 ? absl::StrCat(" in block ", *block) : "", ", more than ",
            run_->terms().is_budget ? "the budget has" : "the run was granted")),
        {kBudgetExceeded, {{"sequence", absl::StrCat(sequence)}}});
  }
  run_->Apply(std::move(step));
  return absl::OkStatus();
}

absl::Status HeldLog::CheckHolds(const v1::BudgetGrant& grant) const {
  v1::LedgerEntry entry;
  entry.set_sequence(run_->size());
  *entry.mutable_granted() = grant;
  ASSIGN_OR_RETURN(const HeldRun::Step step, run_->Take(entry, uses_of_));
  if (!run_->IsOwed(step) && !run_->CrossedIn(step).has_value()) return absl::OkStatus();
  return WithReason(
      absl::FailedPreconditionError(absl::StrCat(
          run_->IsOwed(step) ? "was sealed while writers were missing, with a grant of "
                             : "has spent ",
          run_->IsOwed(step) ? SpentBy(run_->filter(), run_->terms().granted.Total())
                             : run_->Spent(),
          ", and the budget grants it ", run_->BoundAfter(step))),
      {kBudgetExceeded, {}});
}

}  // namespace dpledger::questions
