// A file that others replace while the server runs. One thread at a time.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"

namespace dpledger::identity {

class WatchedFile {
 public:
  // `clock` must outlive the object.
  WatchedFile(std::string path, Clock* clock, size_t max_bytes = kMaxBytes)
      : path_(std::move(path)), clock_(*clock), max_bytes_(max_bytes) {}

  // The content, if it may differ from what was given last; the error, if that is new. nullopt:
  // nothing new. A change is found by the file's identity, size and times; a file that changed in
  // the seconds before it was read is read again, because its times may be too coarse to tell.
  // FAILED_PRECONDITION (FILE_EXPOSED) if it is no regular file, or others than its owner may write
  // it, or it belongs to neither this user nor root. RESOURCE_EXHAUSTED if it is too long.
  std::optional<absl::StatusOr<std::string>> Changed();

  const std::string& path() const { return path_; }

 private:
  static constexpr size_t kMaxBytes = size_t{16} << 20;
  struct Stamp {
    dev_t device = 0;
    ino_t inode = 0;
    off_t size = -1;
    absl::Time modified, changed;
    bool operator==(const Stamp&) const = default;
  };
  absl::StatusOr<std::string> Read(Stamp& stamp) const;

  const std::string path_;
  Clock& clock_;
  const size_t max_bytes_;
  std::optional<Stamp> stamp_;
  bool settled_ = false;             // the stamp is old enough to be trusted
  std::optional<std::string> last_;  // content or error given last, marked by its first byte
};

}  // namespace dpledger::identity
