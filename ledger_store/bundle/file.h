// Bundles as files. Files that are read are never changed. A file that is written gets its name
// only when it is complete and durable. Not thread safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ledger_store/bundle/ustar.h"

namespace dpledger::bundle {

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd = -1) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  FileDescriptor& operator=(FileDescriptor&&) = delete;
  ~FileDescriptor();

  int get() const { return fd_; }

 private:
  int fd_;
};

class FileSource : public ByteSource {
 public:
  static absl::StatusOr<FileSource> Open(const std::string& path);
  absl::StatusOr<size_t> Read(char* into, size_t max_bytes) override;
  // Reads from the beginning again: the same file, even if another has its name by now.
  absl::Status Rewind();

 private:
  FileSource(FileDescriptor fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  FileDescriptor fd_;
  std::string path_;
};

// A file without a name, which disappears with the program. It lies in the folder of `path`, whose
// disk needs the room anyway.
class ScratchFile : public ByteSink, public ByteSource {
 public:
  static absl::StatusOr<ScratchFile> Make(const std::string& path);
  absl::Status Write(std::string_view bytes) override;
  // Reads what was written, from the beginning. Nothing may be written after the first Read.
  absl::StatusOr<size_t> Read(char* into, size_t max_bytes) override;
  uint64_t size() const { return size_; }

 private:
  explicit ScratchFile(FileDescriptor fd) : fd_(std::move(fd)) {}
  absl::Status Flush();

  FileDescriptor fd_;
  std::string buffer_;
  uint64_t size_ = 0;
  uint64_t read_ = 0;
};

// A file that is named `path`.partial until Commit. The destructor removes it. Where `path` is a
// link, what it leads to is written; a device or a pipe is written in place, and so is the standard
// output, which is called "-".
class NewFile : public ByteSink {
 public:
  // ABORTED if another process is writing the same file.
  static absl::StatusOr<NewFile> Make(const std::string& path);
  NewFile(NewFile&& other) noexcept;
  ~NewFile() override;
  absl::Status Write(std::string_view bytes) override;
  // Makes the file durable and gives it its name.
  absl::Status Commit();
  uint64_t size() const { return size_; }
  const std::string& path() const { return path_; }
  // What a program removes that is interrupted.
  std::string Partial() const { return in_place_ ? "" : path_ + ".partial"; }

 private:
  NewFile(FileDescriptor fd, std::string path, bool in_place)
      : fd_(std::move(fd)), path_(std::move(path)), in_place_(in_place) {}
  absl::Status Flush();

  FileDescriptor fd_;
  std::string path_;  // empty: nothing to remove
  bool in_place_ = false;
  std::string buffer_;
  uint64_t size_ = 0;
};

}  // namespace dpledger::bundle
