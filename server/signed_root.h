// The signed roots of ledgers' prefixes, for the lineage of forks: proved from what the notary of
// this process has signed.
#pragma once

#include "ledger_store/store.h"
#include "server/lineage.h"
#include "server/signing_loop.h"

namespace dpledger::server {

// Both must outlive the function. Its calls wait for a signature. Thread safe.
SignedRoot SignedRootOf(LedgerReader* store, SigningLoop* signing);

}  // namespace dpledger::server
