// Reads the store in a folder that no server has open. Nothing in the folder is written. Several
// programs may read it at once; a server that would open it meanwhile is refused.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "ledger/stored_head.h"
#include "ledger_store/store.h"

namespace dpledger {

// Whether there is a store in the folder, as far as its files' names tell.
bool HoldsEmbeddedStore(const std::string& folder);

// Thread safe. FAILED_PRECONDITION (STORE_IN_USE) if a server has the folder open, or if it has
// another format; DATA_LOSS if its records are damaged, inconsistent or not authentic; UNAVAILABLE
// and errors of errno for other errors of the disk. Precondition: this process does not have the
// folder open, whose lock it would lose.
absl::StatusOr<std::unique_ptr<LedgerReader>> OpenEmbeddedToRead(const std::string& folder,
                                                                 const HeadKeys& keys);

}  // namespace dpledger
