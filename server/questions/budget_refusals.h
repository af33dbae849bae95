// What was refused of budgets since the server started: for whoever asks why a run stopped. In
// memory, and bounded: of each run the last refusal of a kind, of a budget the latest 20, of the
// 1,000 budgets that were refused something last. Nothing of a refused request is kept but the
// run's name and two numbers. Thread safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "dpledger/v1/accounting_service.pb.h"

namespace dpledger::server {

class BudgetRefusals {
 public:
  // Sets the time, and counts how often the run was refused such a thing.
  void Note(const std::string& budget, v1::BudgetRefusal refusal);
  // The latest first.
  std::vector<v1::BudgetRefusal> Of(const std::string& budget) const;

 private:
  struct OfBudget {
    std::vector<v1::BudgetRefusal> latest;
    uint64_t noted = 0;  // the number of the last one
  };
  mutable absl::Mutex mutex_;
  std::map<std::string, OfBudget> of_ ABSL_GUARDED_BY(mutex_);
  uint64_t noted_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace dpledger::server
