// Ledgers whose entries name callers, where they may and where they may not.
#pragma once

#include <string>
#include <vector>

#include "tests/ledger_store/bundle_sample.h"

namespace dpledger::bundle {

// Two callers, requests of several entries, and what the server writes for them.
SampleLedger LedgerOfCallers();

struct RuleCase {
  std::string name;
  SampleLedger ledger;  // its last entry breaks a rule
  std::string message;
};
std::vector<RuleCase> BadCallers();

}  // namespace dpledger::bundle
