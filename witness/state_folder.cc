#include "witness/state_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/hex.h"
#include "base/status.h"
#include "merkle/compact_tree.h"
#include "merkle/sha256.h"

namespace dpledger::witness {
namespace {

absl::StatusOr<int> Lock(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return ErrnoError(errno, "open", path);
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
  const int error = errno;
  ::close(fd);
  if (error != EWOULDBLOCK) return ErrnoError(error, "lock", path);
  return WithReason(
      absl::FailedPreconditionError(absl::StrCat("state: ", path, " is held by another witness")),
      {"STATE_IN_USE", {}});
}

}  // namespace

std::string OriginHash(std::string_view origin) {
  return HexEncode(merkle::ToBytes(merkle::Sha256({origin})));
}

absl::StatusOr<std::unique_ptr<StateFolder>> StateFolder::Open(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return ErrnoError(error.value(), "create", path);
  // A folder whose name is lost takes with it what was cosigned.
  const std::string parent = std::filesystem::absolute(path).parent_path().string();
  RETURN_IF_ERROR(SyncDirectory(parent));
  ASSIGN_OR_RETURN(const int lock_fd, Lock(absl::StrCat(path, "/lock")));
  return std::unique_ptr<StateFolder>(new StateFolder(path, lock_fd));
}

StateFolder::~StateFolder() { ::close(lock_fd_); }

std::string StateFolder::PathOf(std::string_view origin) const {
  return absl::StrCat(path_, "/", OriginHash(origin), ".checkpoint");
}

std::string StateFolder::RegistryPathOf(std::string_view origin) const {
  return absl::StrCat(path_, "/", OriginHash(origin), ".registry");
}

absl::Status StateFolder::KeepEvidence(std::string_view origin, const std::string& name,
                                       std::string_view content) const {
  const std::string folder = absl::StrCat(path_, "/", OriginHash(origin), ".contradiction");
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return ErrnoError(error.value(), "create", folder);
  const std::string path = absl::StrCat(folder, "/", name);
  // The first evidence stays: later answers of the same log add nothing to it.
  if (std::filesystem::exists(path)) return absl::OkStatus();
  return WriteFileDurably(path, content);
}

absl::StatusOr<std::optional<merkle::Note>> StateFolder::Read(std::string_view origin) const {
  const std::string path = PathOf(origin);
  const absl::StatusOr<std::string> content = ReadFile(path);
  if (absl::IsNotFound(content.status())) return std::nullopt;
  RETURN_IF_ERROR(content.status());
  absl::StatusOr<merkle::Note> note = merkle::Note::Parse(*content);
  if (note.ok()) return *std::move(note);
  return absl::DataLossError(absl::StrCat("state: ", path, ": ", note.status().message()));
}

absl::Status StateFolder::Write(std::string_view origin, const merkle::Note& note) {
  return WriteFileDurably(PathOf(origin), note.ToText());
}

}  // namespace dpledger::witness
