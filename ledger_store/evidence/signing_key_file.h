// The file that holds the private key with which checkpoints are signed: one unencrypted PKCS #8
// key in PEM, readable by its owner alone. Nothing here writes the key anywhere else, errors
// included. Thread safe.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "merkle/ed25519.h"

namespace dpledger {

// NOT_FOUND if there is none; FAILED_PRECONDITION (KEY_FILE_EXPOSED) if it is not a regular file or
// group or others may read or write it; INVALID_ARGUMENT if it holds no Ed25519 key.
absl::StatusOr<merkle::Ed25519PrivateKey> ReadSigningKey(const std::string& path);

// A new key in a new file, mode 0600, durable on return. ALREADY_EXISTS if something has that name.
absl::StatusOr<merkle::Ed25519PrivateKey> MakeSigningKey(const std::string& path);

}  // namespace dpledger
