#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/absl_view.h"
#include "base/status.h"

namespace dpledger {

absl::Status ErrnoError(int error, std::string_view operation, std::string_view path) {
  return absl::ErrnoToStatus(error, absl::StrCat(ToAbsl(operation), " ", ToAbsl(path)));
}

// Not by a stream: that takes an error of the disk for the end of the file.
absl::StatusOr<std::string> ReadToEnd(int fd, const std::string& path, size_t max_bytes) {
  std::string content;
  struct stat status;
  if (::fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
    content.reserve(static_cast<size_t>(status.st_size));
  }
  char bytes[1 << 16];
  while (true) {
    const ssize_t n = ::read(fd, bytes, sizeof(bytes));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoError(errno, "read", path);
    if (n == 0) return content;
    content.append(bytes, static_cast<size_t>(n));
    if (content.size() > max_bytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat(path, ": must be at most ", max_bytes >> 20, " MiB"));
    }
  }
}

absl::Status WriteAll(int fd, std::string_view content, const std::string& path) {
  while (!content.empty()) {
    const ssize_t n = ::write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoError(errno, "write", path);
    content.remove_prefix(static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

absl::Status WriteAndSync(int fd, std::string_view content, const std::string& path) {
  RETURN_IF_ERROR(WriteAll(fd, content, path));
  if (::fsync(fd) != 0) return ErrnoError(errno, "fsync", path);
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return ErrnoError(errno, "open", path);
  absl::StatusOr<std::string> content = ReadToEnd(fd, path, std::numeric_limits<size_t>::max());
  ::close(fd);
  return content;
}

absl::Status TruncateDurably(const std::string& path, uint64_t bytes) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return ErrnoError(errno, "open", path);
  const bool done = ::ftruncate(fd, static_cast<off_t>(bytes)) == 0 && ::fsync(fd) == 0;
  const int error = errno;
  ::close(fd);
  return done ? absl::OkStatus() : ErrnoError(error, "truncate", path);
}

absl::Status SyncDirectory(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return ErrnoError(errno, "open", path);
  const int failed = ::fsync(fd);
  const int error = errno;
  ::close(fd);
  return failed == 0 ? absl::OkStatus() : ErrnoError(error, "fsync", path);
}

absl::Status WriteFileDurably(const std::string& path, std::string_view content) {
  const std::string temporary = absl::StrCat(path, ".tmp");
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return ErrnoError(errno, "open", temporary);
  absl::Status written = WriteAndSync(fd, content, temporary);
  if (::close(fd) != 0 && written.ok()) written = ErrnoError(errno, "close", temporary);
  if (!written.ok()) {
    ::unlink(temporary.c_str());  // a full disk needs the room
    return written;
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) return ErrnoError(errno, "rename", temporary);
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return SyncDirectory(folder.empty() ? "." : folder);
}

std::string Beside(const std::string& folder, std::string_view ending) {
  std::filesystem::path path = std::filesystem::path(folder).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();  // "store/"
  return path.string().append(ending);
}

}  // namespace dpledger
