// Files that hold a secret, such as a private key: readable by their owner alone, written once and
// never changed. Nothing here writes the content anywhere else, errors included; whoever holds it
// wipes it. Thread safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace dpledger {

// At most the first `max_bytes` of the file. NOT_FOUND if there is none; FAILED_PRECONDITION
// (KEY_FILE_EXPOSED) if it is not a regular file, belongs to another user than this process or
// root, or group or others may read or write it.
absl::StatusOr<std::string> ReadSecretFile(const std::string& path, size_t max_bytes);

// A new file, mode 0600, durable on return; no crash leaves a part of it under its name.
// ALREADY_EXISTS if something has that name.
absl::Status MakeSecretFile(const std::string& path, std::string_view content);

}  // namespace dpledger
