// Bundles as files. A file that is read is never changed; one that is written has its name only
// once it is whole and durable. Not thread safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ledger_store/bundle/ustar.h"

namespace dpledger::cli {

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

class FileSource : public bundle::ByteSource {
 public:
  static absl::StatusOr<FileSource> Open(const std::string& path);
  absl::StatusOr<size_t> Read(char* into, size_t max_bytes) override;
  // From the beginning again: the same file, whatever has its name by now.
  absl::Status Rewind();

 private:
  FileSource(FileDescriptor fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  FileDescriptor fd_;
  std::string path_;
};

// A file without a name, that goes with the program: beside `path`, on whose disk there has to be
// room anyway.
class ScratchFile : public bundle::ByteSink, public bundle::ByteSource {
 public:
  static absl::StatusOr<ScratchFile> Make(const std::string& path);
  absl::Status Write(std::string_view bytes) override;
  // What was written, from the beginning. Nothing may be written after the first Read.
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

// `path`.partial until Commit. Removed on Ctrl-C and by the destructor.
class NewFile : public bundle::ByteSink {
 public:
  // ABORTED if another process writes it.
  static absl::StatusOr<NewFile> Make(const std::string& path);
  NewFile(NewFile&& other) noexcept;
  ~NewFile() override;
  absl::Status Write(std::string_view bytes) override;
  // Durable, and under its name.
  absl::Status Commit();
  uint64_t size() const { return size_; }

 private:
  NewFile(FileDescriptor fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  std::string Partial() const { return path_ + ".partial"; }
  absl::Status Flush();

  FileDescriptor fd_;
  std::string path_;  // empty: nothing to remove
  std::string buffer_;
  uint64_t size_ = 0;
};

}  // namespace dpledger::cli
