// Checks, before a store is served, that it holds everything that was ever signed of it: compares
// it with its registry, and the registry with the checkpoint in the second place.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "ledger_store/evidence/checkpoint_file.h"
#include "ledger_store/evidence/registry.h"
#include "ledger_store/store.h"

namespace dpledger {

// The ledger's stored checkpoint, verified; of size 0 if it has none. DATA_LOSS unless it is the
// ledger's last one in the registry; ABORTED (SIGNER_REPLACED) if the registry has grown since it
// was read.
absl::StatusOr<SignedCheckpoint> LastOf(CheckpointReader& store, const Registry& registry,
                                        const std::string& ledger);

// DATA_LOSS if the registry is shorter than the checkpoint in the second place or differs from it,
// or if copies exist and none verifies. Precondition: the registry is caught up.
absl::Status CheckSecondPlace(LedgerReader& store, const Registry& registry,
                              const CheckpointFile& file);
// The same for a store in which nothing was signed.
absl::Status CheckNothingSigned(const CheckpointFile& file);
// The same with copies from elsewhere; messages name `where` they are from.
inline constexpr char kWitnesses[] = "the witnesses";
absl::Status CheckCopies(LedgerReader& store, const Registry& registry,
                         const std::vector<std::string>& copies, const std::string& where);

// What a start has not looked at.
struct LeftToCheck {
  uint64_t registry_entries = 0;  // the first ones
  uint64_t ledgers = 0;           // those after a name: their signatures and tiles
  std::string after;
};

// DATA_LOSS unless, for every ledger, the checkpoint says what the registry says, whose entries
// hash to the signed root, and the ledger has at least that many entries; and unless every ledger
// in the registry exists. In the first `time`, by name, also unless the checkpoint's signature is
// good and the tiles have the signed root: of all other ledgers that is left, for whoever reads
// them and for ResumeSigned. Catches the registry up if others extend it meanwhile.
absl::StatusOr<LeftToCheck> CheckLedgers(LedgerReader& store, Registry& registry,
                                         absl::Duration time, Clock& clock);

}  // namespace dpledger
