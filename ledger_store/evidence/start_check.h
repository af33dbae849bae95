// What a store must hold to be served: all that was ever signed of it. Compares what it holds with
// its registry, and the registry with the checkpoint that is kept in a second place.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ledger_store/evidence/checkpoint_file.h"
#include "ledger_store/evidence/registry.h"
#include "ledger_store/store.h"

namespace dpledger {

// The ledger's stored checkpoint, verified; one of size 0 if it has none. DATA_LOSS unless it is
// the one that the registry names last; ABORTED (SIGNER_REPLACED) if the registry has been carried
// on since it was read.
absl::StatusOr<SignedCheckpoint> LastOf(CheckpointReader& store, const Registry& registry,
                                        const std::string& ledger);

// DATA_LOSS if the registry is shorter than the checkpoint in the second place, or is another one,
// or if copies are there and none verifies. Precondition: the registry is caught up.
absl::Status CheckSecondPlace(LedgerReader& store, const Registry& registry,
                              const CheckpointFile& file);

// Every ledger: its checkpoint is what the registry says, its tiles have the root that was signed,
// and it has at least so many entries; and no ledger of the registry is missing. Catches the
// registry up if others carry it on meanwhile. DATA_LOSS.
absl::Status CheckLedgers(LedgerReader& store, Registry& registry);

}  // namespace dpledger
