#include "base/secret_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status.h"

namespace dpledger {

bool OfOwnGroup(const struct stat& file) {
  return file.st_uid == ::geteuid() && file.st_gid == ::geteuid() && file.st_gid != 0;
}

namespace {

absl::Status Exposed(const std::string& path, const char* what) {
  return WithReason(absl::FailedPreconditionError(absl::StrCat(path, ": ", what)),
                    {"KEY_FILE_EXPOSED", {}});
}

// The bits of its mode that would let somebody use the file who must not.
mode_t ForbiddenBits(const struct stat& file) {
  if (file.st_uid == 0 && ::geteuid() != 0) return S_IWGRP | S_IXGRP | S_IRWXO;
  return OfOwnGroup(file) ? S_IXGRP | S_IRWXO : S_IRWXG | S_IRWXO;
}

absl::Status CheckUsersAlone(int fd, const std::string& path) {
  struct stat status;
  if (::fstat(fd, &status) != 0) return ErrnoError(errno, "stat", path);
  if (!S_ISREG(status.st_mode)) return Exposed(path, "a secret must be in a regular file");
  if (status.st_uid != ::geteuid() && status.st_uid != 0) {
    return Exposed(path, "belongs to another user, who can read the secret");
  }
  if ((status.st_mode & ForbiddenBits(status)) != 0) {
    return Exposed(path,
                   "group or others may use the secret; say chmod 600, and if somebody may have "
                   "read it, change it (docs/operating.md)");
  }
  return absl::OkStatus();
}

// Writes the content beside `path`, durably, and gives it the name by `publish`, so that no crash
// leaves half a secret under the name. The file beside it has a name of its own: with a common one
// a process could publish the secret of another that writes the same file.
absl::Status Write(const std::string& path, std::string_view content,
                   int (*publish)(const char* from, const char* to)) {
  std::string temporary = absl::StrCat(path, ".XXXXXX");
  const int fd = ::mkostemp(temporary.data(), O_CLOEXEC);  // mode 0600
  if (fd < 0) return ErrnoError(errno, "create", path);
  const auto remove = absl::MakeCleanup([&temporary] { ::unlink(temporary.c_str()); });
  const absl::Status written = WriteAndSync(fd, content, temporary);
  if (::close(fd) != 0 && written.ok()) return ErrnoError(errno, "close", temporary);
  RETURN_IF_ERROR(written);
  if (publish(temporary.c_str(), path.c_str()) != 0) return ErrnoError(errno, "create", path);
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return SyncDirectory(folder.empty() ? "." : folder);
}

}  // namespace

absl::StatusOr<std::string> ReadSecretFile(const std::string& path, size_t max_bytes) {
  // O_NONBLOCK: a named pipe is refused, not waited for.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return ErrnoError(errno, "open", path);
  const auto close = absl::MakeCleanup([fd] { ::close(fd); });
  RETURN_IF_ERROR(CheckUsersAlone(fd, path));
  std::string content(max_bytes, '\0');
  const ssize_t size = ::read(fd, content.data(), content.size());
  if (size < 0) return ErrnoError(errno, "read", path);
  content.resize(static_cast<size_t>(size));
  return content;
}

absl::Status MakeSecretFile(const std::string& path, std::string_view content) {
  return Write(path, content, ::link);
}

absl::Status ReplaceSecretFile(const std::string& path, std::string_view content) {
  return Write(path, content, ::rename);
}

}  // namespace dpledger
