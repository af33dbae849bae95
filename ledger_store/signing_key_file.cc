#include "ledger_store/signing_key_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status.h"

namespace dpledger {
namespace {

constexpr size_t kMaxKeyFileBytes = 4096;  // a key takes 119

absl::Status Exposed(const std::string& path, const char* what) {
  return WithReason(absl::FailedPreconditionError(absl::StrCat(path, ": ", what)),
                    {"KEY_FILE_EXPOSED", {}});
}

absl::Status CheckKeyFile(int fd, const std::string& path) {
  struct stat status;
  if (::fstat(fd, &status) != 0) return ErrnoError(errno, "stat", path);
  if (!S_ISREG(status.st_mode)) return Exposed(path, "a signing key must be in a regular file");
  if ((status.st_mode & 077) != 0) {
    return Exposed(path,
                   "group or others may use the signing key; say chmod 600, and if somebody may "
                   "have read it, rotate it (docs/operating.md)");
  }
  return absl::OkStatus();
}

absl::Status WriteAndSync(int fd, const std::string& content, const std::string& path) {
  const ssize_t written = ::write(fd, content.data(), content.size());
  if (written != static_cast<ssize_t>(content.size())) {
    return ErrnoError(written < 0 ? errno : ENOSPC, "write", path);
  }
  return ::fsync(fd) == 0 ? absl::OkStatus() : ErrnoError(errno, "fsync", path);
}

}  // namespace

absl::StatusOr<merkle::Ed25519PrivateKey> ReadSigningKey(const std::string& path) {
  // O_NONBLOCK: a named pipe is refused, not waited for.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return ErrnoError(errno, "open", path);
  const auto close = absl::MakeCleanup([fd] { ::close(fd); });
  RETURN_IF_ERROR(CheckKeyFile(fd, path));
  std::string pem(kMaxKeyFileBytes, '\0');
  const ssize_t size = ::read(fd, pem.data(), pem.size());
  const int error = errno;
  if (size < 0) return ErrnoError(error, "read", path);
  pem.resize(static_cast<size_t>(size));
  absl::StatusOr<merkle::Ed25519PrivateKey> key = merkle::Ed25519PrivateKey::FromPem(pem);
  merkle::Wipe(pem);
  if (key.ok()) return key;
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": must hold one Ed25519 private key as PEM (PKCS #8, not encrypted)"));
}

absl::StatusOr<merkle::Ed25519PrivateKey> MakeSigningKey(const std::string& path) {
  ASSIGN_OR_RETURN(merkle::Ed25519PrivateKey key, merkle::Ed25519PrivateKey::Generate());
  // Written beside and linked, so that no crash leaves half a key under the name.
  const std::string temporary = absl::StrCat(path, ".tmp");
  ::unlink(temporary.c_str());
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return ErrnoError(errno, "create", temporary);
  const auto remove = absl::MakeCleanup([&temporary] { ::unlink(temporary.c_str()); });
  std::string pem = key.ToPem();
  const absl::Status written = WriteAndSync(fd, pem, temporary);
  merkle::Wipe(pem);
  if (::close(fd) != 0 && written.ok()) return ErrnoError(errno, "close", temporary);
  RETURN_IF_ERROR(written);
  if (::link(temporary.c_str(), path.c_str()) != 0) return ErrnoError(errno, "create", path);
  const std::string folder = std::filesystem::path(path).parent_path().string();
  RETURN_IF_ERROR(SyncDirectory(folder.empty() ? "." : folder));
  return key;
}

}  // namespace dpledger
