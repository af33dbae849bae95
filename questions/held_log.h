// Follows a budget, or a run under one, entry by entry, as whoever checks a record does: what the
// server refused must not be there. Not thread safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "dpledger/v1/ledger.pb.h"
#include "questions/held_run.h"

namespace dpledger::questions {

class HeldLog {
 public:
  HeldLog() = default;
  HeldLog(const HeldLog&) = delete;

  // Takes the next entry, from entry 0 on. FAILED_PRECONDITION, naming it: BUDGET_EXCEEDED if the
  // bound does not hold after it; BLOCK_RETIRED if it grants more of a retired block; NO_BUDGET if
  // the ledger is no budget, and under none; those of what the accountant cannot count. Not to be
  // used after an error.
  absl::Status Add(std::string_view bytes);

  // Of a run, that the budget's last grant to it, as the budget tells it, holds what the run has
  // spent, and what its missing writers may still bring. FAILED_PRECONDITION (BUDGET_EXCEEDED).
  absl::Status CheckHolds(const v1::BudgetGrant& grant) const;

  // Precondition: Add was OK.
  const v1::Declaration& declaration() const { return declaration_; }
  const HeldRun& run() const { return *run_; }
  bool is_sealed() const { return is_sealed_; }
  // What it grants, or was granted, in order.
  const std::vector<v1::BudgetGrant>& grants() const { return grants_; }

 private:
  absl::Status Begin(const v1::LedgerEntry& first);

  v1::Declaration declaration_;
  std::optional<HeldRun> run_;
  UsesOfPart uses_of_;
  UsesMemo known_;
  std::vector<v1::BudgetGrant> grants_;
  bool is_sealed_ = false;
};

}  // namespace dpledger::questions
