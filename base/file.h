// Files written so that a crash leaves the old content or the new, never a mixture.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace dpledger {

// The whole content. NOT_FOUND if there is no such file.
absl::StatusOr<std::string> ReadFile(const std::string& path);

// All that follows in an open file, which `path` names in errors. RESOURCE_EXHAUSTED above
// `max_bytes`, whole MiB.
absl::StatusOr<std::string> ReadToEnd(int fd, const std::string& path, size_t max_bytes);

// Writes to an open file, which `path` names in errors; WriteAndSync: on return it is durable.
absl::Status WriteAll(int fd, std::string_view content, const std::string& path);
absl::Status WriteAndSync(int fd, std::string_view content, const std::string& path);

// Writes a temporary file beside `path`, syncs it, renames it over `path` and syncs the folder. On
// return the content is durable. Errors carry errno's text and the path.
absl::Status WriteFileDurably(const std::string& path, std::string_view content);

// Cuts the file off behind its first `bytes`. On return that is durable.
absl::Status TruncateDurably(const std::string& path, uint64_t bytes);

// Makes the file names in a folder durable, after a create, rename or unlink.
absl::Status SyncDirectory(const std::string& path);

// The name of a file beside a folder: "store.key" where the folder is "store" or "store/".
std::string Beside(const std::string& folder, std::string_view ending);

// "<operation> <path>: <errno text>", with the code that fits errno.
absl::Status ErrnoError(int error, std::string_view operation, std::string_view path);

}  // namespace dpledger
