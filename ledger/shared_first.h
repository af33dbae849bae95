// Entries 0 of ledgers, held once where ledgers declare the same, as the runs of one trainer do.
#pragma once

#include <memory>

#include "dpledger/v1/ledger.pb.h"

namespace dpledger {

// An entry equal to `first`: an earlier one, if that is among the few that are kept. Thread safe.
std::shared_ptr<const v1::LedgerEntry> SharedFirst(v1::LedgerEntry first);

}  // namespace dpledger
