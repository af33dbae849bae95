// The lock of a store's folder, for programs beside the server: RocksDB holds the same file's while
// a server has the store open. Nothing is written. Thread safe.
#pragma once

#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace dpledger::embedded {

class FolderLock {
 public:
  // kShared: no server may open the store meanwhile, other readers may. kExclusive: nobody.
  enum class Kind { kShared, kExclusive };
  // FAILED_PRECONDITION (STORE_IN_USE) if it is held. A folder without a lock file, or one that
  // cannot be locked (read-only media), is not in use by anybody: OK.
  static absl::StatusOr<FolderLock> Take(const std::string& folder, Kind kind);

  FolderLock(FolderLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FolderLock& operator=(FolderLock&&) = delete;
  ~FolderLock();

 private:
  explicit FolderLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace dpledger::embedded
