#include "ledger_store/bundle/file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status.h"

namespace dpledger::bundle {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;

absl::StatusOr<size_t> ReadSome(int fd, char* into, size_t max_bytes, const std::string& path) {
  ssize_t n = -1;
  do {
    n = ::read(fd, into, max_bytes);
  } while (n < 0 && errno == EINTR);
  if (n < 0) return ErrnoError(errno, "read", path);
  return static_cast<size_t>(n);
}

}  // namespace

FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) ::close(fd_);
}

absl::StatusOr<FileSource> FileSource::Open(const std::string& path) {
  FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) return ErrnoError(errno, "open", path);
  return FileSource(std::move(fd), path);
}

absl::StatusOr<size_t> FileSource::Read(char* into, size_t max_bytes) {
  return ReadSome(fd_.get(), into, max_bytes, path_);
}

absl::Status FileSource::Rewind() {
  if (::lseek(fd_.get(), 0, SEEK_SET) == 0) return absl::OkStatus();
  return ErrnoError(errno, "read again", path_);
}

absl::Status BufferedFile::Flush() {
  const absl::Status written = WriteAll(fd_.get(), buffer_, name_);
  buffer_.clear();
  return written;
}

absl::Status BufferedFile::Write(std::string_view bytes) {
  buffer_ += bytes;
  size_ += bytes.size();
  return buffer_.size() < kBufferBytes ? absl::OkStatus() : Flush();
}

absl::StatusOr<ScratchFile> ScratchFile::Make(const std::string& path) {
  std::string name = path + ".events-XXXXXX";
  FileDescriptor fd(::mkostemp(name.data(), O_CLOEXEC));
  if (fd.get() < 0) return ErrnoError(errno, "make", name);
  if (::unlink(name.c_str()) != 0) return ErrnoError(errno, "unlink", name);
  return ScratchFile(std::move(fd));
}

absl::StatusOr<size_t> ScratchFile::Read(char* into, size_t max_bytes) {
  if (read_ == 0) {
    RETURN_IF_ERROR(Flush());
    if (::lseek(fd_.get(), 0, SEEK_SET) != 0) return ErrnoError(errno, "read", "scratch file");
  }
  ASSIGN_OR_RETURN(const size_t n, ReadSome(fd_.get(), into, max_bytes, "scratch file"));
  read_ += n;
  return n;
}

namespace {

// Where a link leads, be anything there or not.
std::filesystem::path BehindLinks(std::filesystem::path path) {
  constexpr int kMostLinks = 40;
  std::error_code error;
  for (int i = 0; i < kMostLinks && std::filesystem::is_symlink(path, error); ++i) {
    const std::filesystem::path target = std::filesystem::read_symlink(path, error);
    path = path.parent_path() / target;  // which an absolute one takes the place of
  }
  return path;
}

}  // namespace

absl::StatusOr<NewFile> NewFile::Make(const std::string& path) {
  if (path == "-") return NewFile(FileDescriptor(::dup(STDOUT_FILENO)), path, /*in_place=*/true);
  std::error_code error;
  const std::filesystem::file_status there = std::filesystem::status(path, error);
  // Of what is no file a link may lead to no name at all (/dev/stdout to a pipe).
  const bool is_file = std::filesystem::is_regular_file(there) || !std::filesystem::exists(there);
  const std::string place =
      is_file && std::filesystem::is_symlink(path, error) ? BehindLinks(path).string() : path;
  if (std::filesystem::is_directory(there)) return ErrnoError(EISDIR, "make", place);
  if (!is_file) {
    FileDescriptor fd(::open(place.c_str(), O_WRONLY | O_CLOEXEC));
    if (fd.get() < 0) return ErrnoError(errno, "open", place);
    return NewFile(std::move(fd), place, /*in_place=*/true);
  }
  const std::string partial = place + ".partial";
  FileDescriptor fd(::open(partial.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  if (fd.get() < 0) return ErrnoError(errno, "make", partial);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    return absl::AbortedError(absl::StrCat(partial, ": another process is writing it"));
  }
  if (::ftruncate(fd.get(), 0) != 0) return ErrnoError(errno, "truncate", partial);
  return NewFile(std::move(fd), place, /*in_place=*/false);
}

NewFile::NewFile(NewFile&& other) noexcept
    : BufferedFile(std::move(other)),
      path_(std::exchange(other.path_, "")),
      in_place_(other.in_place_) {}

NewFile::~NewFile() {
  if (path_.empty() || in_place_) return;
  ::unlink(Partial().c_str());
}

absl::Status NewFile::Commit() {
  RETURN_IF_ERROR(Flush());
  if (in_place_) return absl::OkStatus();
  if (::fsync(fd_.get()) != 0) return ErrnoError(errno, "fsync", Partial());
  if (::rename(Partial().c_str(), path_.c_str()) != 0) {
    return ErrnoError(errno, "rename", Partial());
  }
  const std::string folder = std::filesystem::path(std::exchange(path_, "")).parent_path().string();
  return SyncDirectory(folder.empty() ? "." : folder);
}

}  // namespace dpledger::bundle
