#include "ledger_store/embedded/folder_lock.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status.h"

namespace dpledger::embedded {

absl::StatusOr<FolderLock> FolderLock::Take(const std::string& folder, Kind kind) {
  const std::string path = absl::StrCat(folder, "/LOCK");
  const bool exclusive = kind == Kind::kExclusive;
  const int fd = ::open(path.c_str(), (exclusive ? O_RDWR : O_RDONLY) | O_CLOEXEC);
  if (fd < 0) {
    if (errno == ENOENT || (errno == EROFS && exclusive)) return FolderLock(-1);
    return ErrnoError(errno, "open", path);
  }
  FolderLock lock(fd);
  // A lock of the open file description: it meets RocksDB's, which is of the process, and goes with
  // this descriptor alone.
  struct flock wanted = {};
  wanted.l_type = exclusive ? F_WRLCK : F_RDLCK;
  wanted.l_whence = SEEK_SET;
  if (::fcntl(fd, F_OFD_SETLK, &wanted) == 0) return lock;
  if (errno != EAGAIN && errno != EACCES) return ErrnoError(errno, "lock", path);
  return WithReason(absl::FailedPreconditionError(absl::StrCat(
                        folder,
                        ": a server has this store open; stop it, or look at a snapshot "
                        "of the folder")),
                    {"STORE_IN_USE", {{"folder", folder}}});
}

FolderLock::~FolderLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace dpledger::embedded
