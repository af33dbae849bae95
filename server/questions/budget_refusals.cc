#include "server/questions/budget_refusals.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"

namespace dpledger::server {
namespace {

constexpr size_t kMostOfOne = 20, kMostBudgets = 1000;

}  // namespace

void BudgetRefusals::Note(const std::string& budget, v1::BudgetRefusal refusal) {
  refusal.mutable_time()->set_seconds(absl::ToUnixSeconds(absl::Now()));
  refusal.set_times(1);
  absl::MutexLock lock(&mutex_);
  OfBudget& of_budget = of_[budget];
  of_budget.noted = ++noted_;
  std::vector<v1::BudgetRefusal>& all = of_budget.latest;
  const auto before = std::find_if(all.begin(), all.end(), [&](const v1::BudgetRefusal& one) {
    return one.ledger() == refusal.ledger() && one.of_batch() == refusal.of_batch();
  });
  if (before != all.end()) {
    refusal.set_times(before->times() + 1);
    all.erase(before);
  }
  all.insert(all.begin(), std::move(refusal));
  if (all.size() > kMostOfOne) all.pop_back();
  if (of_.size() <= kMostBudgets) return;
  of_.erase(std::min_element(of_.begin(), of_.end(), [](const auto& a, const auto& b) {
    return a.second.noted < b.second.noted;
  }));
}

std::vector<v1::BudgetRefusal> BudgetRefusals::Of(const std::string& budget) const {
  absl::MutexLock lock(&mutex_);
  const auto found = of_.find(budget);
  return found == of_.end() ? std::vector<v1::BudgetRefusal>() : found->second.latest;
}

}  // namespace dpledger::server
