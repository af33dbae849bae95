#include "ledger_store/embedded/folder_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/file.h"
#include "base/status.h"

namespace dpledger::embedded {
namespace {

namespace fs = std::filesystem;

absl::Status SyncFile(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return ErrnoError(errno, "open", path);
  const int failed = ::fsync(fd);
  const int error = errno;
  ::close(fd);
  return failed == 0 ? absl::OkStatus() : ErrnoError(error, "fsync", path);
}

absl::Status GiveTo(const struct stat& owner, const std::string& path) {
  if (owner.st_uid == ::geteuid() && owner.st_gid == ::getegid()) return absl::OkStatus();
  if (::lchown(path.c_str(), owner.st_uid, owner.st_gid) == 0) return absl::OkStatus();
  return ErrnoError(errno, "change the owner of", path);
}

}  // namespace

absl::Status SyncAll(const std::string& folder, const struct stat& like) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    RETURN_IF_ERROR(GiveTo(like, it->path().string()));
    RETURN_IF_ERROR(SyncFile(it->path().string()));
  }
  if (error) return ErrnoError(error.value(), "read the folder", folder);
  RETURN_IF_ERROR(GiveTo(like, folder));
  if (::chmod(folder.c_str(), like.st_mode & 07777) != 0) {
    return ErrnoError(errno, "change the mode of", folder);
  }
  return SyncDirectory(folder);
}

}  // namespace dpledger::embedded
