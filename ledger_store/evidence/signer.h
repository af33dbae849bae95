// Who may sign for a registry: the key that it names last, or one that is given beside that key.
#pragma once

#include "absl/status/status.h"
#include "ledger_store/evidence/registry.h"
#include "merkle/ed25519.h"

namespace dpledger {

// OK if `key` signs for the registry, or may replace `previous` (null: none is given), or the
// registry has no entries. FAILED_PRECONDITION (KEY_MISMATCH) that names both keys;
// RESOURCE_EXHAUSTED (TOO_MANY_KEYS).
absl::Status CheckSigner(const Registry& registry, const merkle::Ed25519PrivateKey& key,
                         const merkle::Ed25519PrivateKey* previous);

}  // namespace dpledger
