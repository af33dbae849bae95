// The registry's latest checkpoint in a second place, outside the store: a store that lost its end,
// or that was put back from an older backup, is then known by it. Two copies, FILE and
// FILE.previous, of which one is whole at any moment.
// Not thread safe; one process writes.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace dpledger {

class CheckpointFile {
 public:
  explicit CheckpointFile(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }

  // The copies that are there, the newest first. An empty list is not an error. Errors of the disk,
  // and INVALID_ARGUMENT for a file that is too long to be a note.
  absl::StatusOr<std::vector<std::string>> Read() const;

  // The last copy becomes FILE.previous and this one FILE; durable on return.
  absl::Status Write(const std::string& note);

 private:
  const std::string path_;
};

}  // namespace dpledger
