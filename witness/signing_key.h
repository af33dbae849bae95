// The witness's own key: a file readable by its owner alone, made at the first start.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "merkle/ed25519.h"

namespace dpledger::witness {

// The key in the file, or a new key in a new file. FAILED_PRECONDITION (KEY_FILE_EXPOSED) if group
// or others may read or write the file; INVALID_ARGUMENT if it holds no Ed25519 key.
absl::StatusOr<merkle::Ed25519PrivateKey> ReadOrMakeSigningKey(const std::string& path);

}  // namespace dpledger::witness
