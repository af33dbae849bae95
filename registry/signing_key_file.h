// The file with the private key that signs checkpoints, or cosigns them: one unencrypted PKCS #8
// key in PEM, readable by its owner alone. The key is never written elsewhere, not even into an
// error. Thread safe.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "merkle/ed25519.h"

namespace dpledger {

// NOT_FOUND if there is no such file; FAILED_PRECONDITION (KEY_FILE_EXPOSED) as ReadSecretFile;
// INVALID_ARGUMENT if it holds no Ed25519 key.
absl::StatusOr<merkle::Ed25519PrivateKey> ReadSigningKey(const std::string& path);

// Makes a new key in a new file of mode 0600, durable on return. If the file is there, as another
// process that starts at the same time may have made it, the key is the file's.
absl::StatusOr<merkle::Ed25519PrivateKey> MakeSigningKey(const std::string& path);

// The key in the file, or a new one if there is no file.
absl::StatusOr<merkle::Ed25519PrivateKey> ReadOrMakeSigningKey(const std::string& path);

}  // namespace dpledger
