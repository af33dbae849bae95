// The lock of a store's folder, for programs other than the server. It locks the file that RocksDB
// locks while a server has the store open. Writes nothing. Thread safe.
#pragma once

#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace dpledger::embedded {

class FolderLock {
 public:
  // kShared: other readers may take it meanwhile, no server may open the store. kExclusive: nobody
  // else may.
  enum class Kind { kShared, kExclusive };
  // FAILED_PRECONDITION (STORE_IN_USE) if the lock is held. OK if the folder has no lock file or
  // the file cannot be locked (read-only media): then nobody uses it.
  static absl::StatusOr<FolderLock> Take(const std::string& folder, Kind kind);

  FolderLock(FolderLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FolderLock& operator=(FolderLock&&) = delete;
  ~FolderLock();

 private:
  explicit FolderLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace dpledger::embedded
