// Files that hold a secret, such as a private key or a password: readable by the process's user
// alone, or by those whom root has named, and replaced whole or never changed. The content is never
// written elsewhere, not even into an error; the caller wipes its copy. Thread safe.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace dpledger {

// Whether the file's owner is this process's user, and its group that user's own, which has the
// user's number: what the group may do, the user may.
bool OfOwnGroup(const struct stat& file);

// At most the first `max_bytes` of the file. NOT_FOUND if there is no such file;
// FAILED_PRECONDITION (KEY_FILE_EXPOSED) if it is not a regular file, if neither this process's
// user nor root owns it, if others may use it, or if a group may, but for two cases:
//  - root owns it, and its group may read it: whom root names, root trusts (Kubernetes' secrets
//  with
//    fsGroup, systemd's LoadCredential, as libpq has it);
//  - OfOwnGroup (Kubernetes' fsGroup makes a user's files writable for it).
absl::StatusOr<std::string> ReadSecretFile(const std::string& path, size_t max_bytes);

// Makes a new file of mode 0600, durable on return. A crash never leaves a part of it under its
// name. ALREADY_EXISTS if the name is taken: of several processes one makes the file.
absl::Status MakeSecretFile(const std::string& path, std::string_view content);

// The same, but in place of the file that has the name, if there is one: a crash leaves the old
// content or the new. Two at a time must not write the same name.
absl::Status ReplaceSecretFile(const std::string& path, std::string_view content);

}  // namespace dpledger
