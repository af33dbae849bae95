// The signed roots of ledgers' prefixes, for the lineage of forks: proved from signed checkpoints.
#pragma once

#include "ledger_store/store.h"
#include "server/questions/lineage.h"
#include "server/signing/signed_logs.h"

namespace dpledger::server {

// Both must outlive the function. Its calls wait for a signature. Thread safe.
SignedRoot SignedRootOf(LedgerReader* store, SignedLogs* logs);

}  // namespace dpledger::server
