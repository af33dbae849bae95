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

// What is written to a file, collected into large pieces.
class BufferedFile : public ByteSink {
 public:
  absl::Status Write(std::string_view bytes) override;
  uint64_t size() const { return size_; }

 protected:
  // `name` is for errors.
  BufferedFile(FileDescriptor fd, std::string name) : fd_(std::move(fd)), name_(std::move(name)) {}
  absl::Status Flush();

  FileDescriptor fd_;

 private:
  std::string name_;
  std::string buffer_;
  uint64_t size_ = 0;
};

// A file without a name, which disappears with the program. It lies in the folder of `path`, whose
// disk needs the room anyway.
class ScratchFile : public BufferedFile, public ByteSource {
 public:
  static absl::StatusOr<ScratchFile> Make(const std::string& path);
  // Reads what was written, from the beginning. Nothing may be written after the first Read.
  absl::StatusOr<size_t> Read(char* into, size_t max_bytes) override;

 private:
  explicit ScratchFile(FileDescriptor fd) : BufferedFile(std::move(fd), "scratch file") {}

  uint64_t read_ = 0;
};

// A file that is named `path`.partial until Commit. The destructor removes it. Where `path` is a
// link, what it leads to is written; a device or a pipe is written in place, and so is the standard
// output, which is called "-".
class NewFile : public BufferedFile {
 public:
  // ABORTED if another process is writing the same file.
  static absl::StatusOr<NewFile> Make(const std::string& path);
  NewFile(NewFile&& other) noexcept;
  ~NewFile() override;
  // Makes the file durable and gives it its name.
  absl::Status Commit();
  const std::string& path() const { return path_; }
  // What a program removes that is interrupted.
  std::string Partial() const { return in_place_ ? "" : path_ + ".partial"; }

 private:
  NewFile(FileDescriptor fd, std::string path, bool in_place)
      : BufferedFile(std::move(fd), in_place ? path : path + ".partial"),
        path_(std::move(path)),
        in_place_(in_place) {}

  std::string path_;  // empty: nothing to remove
  bool in_place_ = false;
};

}  // namespace dpledger::bundle
