// A file that others replace while the server runs. One thread at a time.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "identity/caller.h"

namespace dpledger::identity {

class WatchedFile {
 public:
  explicit WatchedFile(std::string path) : path_(std::move(path)) {}

  // The content, unless it is what was given last; an error, unless it is. A change shows in the
  // file's identity, size and times. Times may be as coarse as seconds, so a file that changed
  // shortly before it was read is read again, until a later change must have a later time.
  //
  // NOT_FOUND; FAILED_PRECONDITION (FILE_EXPOSED) if it is no regular file, or belongs to neither
  // this process's user nor root, or others may write it; RESOURCE_EXHAUSTED above 16 MiB.
  std::optional<absl::StatusOr<std::string>> Changed();

  const std::string& path() const { return path_; }

 private:
  struct Stamp {
    dev_t device = 0;
    ino_t inode = 0;
    off_t size = 0;
    absl::Time modified, changed;
    bool operator==(const Stamp&) const = default;
  };
  static std::optional<Stamp> StampOf(const std::string& path);

  const std::string path_;
  std::optional<Stamp> stamp_;  // of the content given last, once its times can be trusted
  std::optional<Sha256Hash> given_;
};

// One look, with the same rules.
absl::StatusOr<std::string> ReadOwnersFile(const std::string& path);

}  // namespace dpledger::identity
