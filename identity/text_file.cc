#include "identity/text_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <utility>

#include "base/file.h"
#include "base/secret_file.h"
#include "base/status.h"

namespace dpledger::identity {
namespace {

// A lock among processes, and among the threads of one: each has a descriptor of its own.
class FileLock {
 public:
  static absl::StatusOr<FileLock> Take(const std::string& path, bool wait) {
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) return ErrnoError(errno, "open", path);
    FileLock lock(fd);
    while (::flock(fd, LOCK_EX | (wait ? 0 : LOCK_NB)) != 0) {
      if (errno != EINTR) return ErrnoError(errno, "lock", path);
    }
    return lock;
  }
  FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ~FileLock() {
    if (fd_ >= 0) ::close(fd_);
  }

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  int fd_;
};

// Not synced.
absl::Status ReplaceUnsynced(const std::string& path, const std::string& content) {
  const std::string temporary = path + ".tmp";
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return ErrnoError(errno, "open", temporary);
  const absl::Status written = WriteAll(fd, content, temporary);
  ::close(fd);
  if (!written.ok()) {
    ::unlink(temporary.c_str());
    return written;
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) return ErrnoError(errno, "rename", temporary);
  return absl::OkStatus();
}

}  // namespace

absl::Status TextFile::Edit(absl::FunctionRef<Edited(const Edited& now)> edit) {
  const bool durably = kept_ == Kept::kDurably;
  ASSIGN_OR_RETURN(const FileLock lock, FileLock::Take(lock_, /*wait=*/durably));
  ASSIGN_OR_RETURN(const std::string content, edit(ReadOwnersFile(name())));
  return durably ? ReplaceSecretFile(name(), content) : ReplaceUnsynced(name(), content);
}

}  // namespace dpledger::identity
