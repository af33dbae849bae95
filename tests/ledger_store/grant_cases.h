// Budgets and runs under them, with grants where they may stand and where they may not.
#pragma once

#include <vector>

#include "tests/ledger_store/bundle_sample.h"
#include "tests/ledger_store/caller_cases.h"

namespace dpledger::bundle {

SampleLedger BudgetLedger();
SampleLedger BudgetWithBlocks();  // of which some are retired
SampleLedger BudgetedRun();

std::vector<RuleCase> BadGrants();

}  // namespace dpledger::bundle
