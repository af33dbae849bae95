#include "server/summaries/ledger_finder.h"

#include "absl/time/clock.h"
#include "base/status.h"
#include "events/names.h"
#include "server/own_ledgers/own_ledgers.h"
#include "server/summaries/filter.h"

namespace dpledger::server {
namespace {

constexpr char kAllProjects[] = "projects/-";

}  // namespace

absl::StatusOr<std::vector<std::string>> LedgerFinder::Over(const std::string& dataset,
                                                            absl::Time deadline) {
  RETURN_IF_ERROR(tail_.Refresh(deadline));
  for (const DamagedLedger& damaged : index_.Damaged()) {
    const std::shared_ptr<const LedgerRow> row = index_.Find(damaged.name);
    if (row == nullptr || row->declaration().dataset() == dataset) return damaged.status;
  }
  std::vector<std::string> names;
  for (const auto& row : index_.Of(kAllProjects)) {
    if (row->declaration().dataset() == dataset) names.push_back(row->name());
  }
  return names;
}

absl::StatusOr<std::vector<std::string>> LedgerFinder::Find(const std::string& parent,
                                                            const std::string& filter,
                                                            absl::Time deadline) {
  if (parent != kAllProjects) RETURN_IF_ERROR(events::CheckProjectName("parent", parent));
  ASSIGN_OR_RETURN(const Filter wanted, Filter::Parse(filter));
  RETURN_IF_ERROR(tail_.Refresh(deadline));
  const absl::Time now = absl::Now();
  std::vector<std::string> names;
  for (const auto& row : index_.Of(parent)) {
    if (IsOfServer(row->name())) continue;
    if (wanted.Holds({*row, now})) names.push_back(row->name());
  }
  return names;
}

std::shared_ptr<const v1::LedgerSummary> LedgerFinder::SummaryOf(const std::string& ledger) const {
  const std::shared_ptr<const LedgerRow> row = index_.Find(ledger);
  return row == nullptr ? nullptr : row->summary;
}

}  // namespace dpledger::server
