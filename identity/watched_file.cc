#include "identity/watched_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/file.h"
#include "base/secret_file.h"
#include "base/status.h"
#include "identity/token.h"

namespace dpledger::identity {
namespace {

constexpr size_t kMaxBytes = size_t{16} << 20;
// More than the coarsest times that file systems keep (FAT: 2 s).
constexpr absl::Duration kSettled = absl::Seconds(3);

absl::Status Exposed(const std::string& path, absl::string_view what) {
  return WithReason(absl::FailedPreconditionError(absl::StrCat(path, ": ", what)),
                    {"FILE_EXPOSED", {}});
}

absl::Status CheckOwnersAlone(const struct stat& status, const std::string& path) {
  if (!S_ISREG(status.st_mode)) return Exposed(path, "must be a regular file");
  if (status.st_uid != ::geteuid() && status.st_uid != 0) {
    return Exposed(path, "belongs to another user, who could change who is let in");
  }
  if ((status.st_mode & (OfOwnGroup(status) ? 002 : 022)) != 0) {
    return Exposed(path, "group or others may write it, and so change who is let in: chmod go-w");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> ReadOwnersFile(const std::string& path) {
  // O_NONBLOCK: a named pipe is refused, not waited for.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return ErrnoError(errno, "open", path);
  const auto close = absl::MakeCleanup([fd] { ::close(fd); });
  struct stat status;
  if (::fstat(fd, &status) != 0) return ErrnoError(errno, "stat", path);
  RETURN_IF_ERROR(CheckOwnersAlone(status, path));
  return ReadToEnd(fd, path, kMaxBytes);
}

std::optional<WatchedFile::Stamp> WatchedFile::StampOf(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return Stamp{status.st_dev, status.st_ino, status.st_size, absl::TimeFromTimespec(status.st_mtim),
               absl::TimeFromTimespec(status.st_ctim)};
}

std::optional<absl::StatusOr<std::string>> WatchedFile::Changed() {
  // Taken before the content: what changes meanwhile shows the next time.
  const absl::Time now = absl::Now();
  const std::optional<Stamp> stamp = StampOf(path_);
  if (stamp.has_value() && stamp == stamp_) return std::nullopt;
  absl::StatusOr<std::string> content = ReadOwnersFile(path_);
  const bool settled =
      stamp.has_value() && stamp->modified + kSettled < now && stamp->changed + kSettled < now;
  stamp_ = settled ? stamp : std::nullopt;
  const Sha256Hash given = HashOf(content.ok() ? absl::StrCat("+", *content)
                                               : absl::StrCat("-", content.status().message()));
  if (given == given_) return std::nullopt;
  given_ = given;
  return content;
}

}  // namespace dpledger::identity
