// The registry's latest checkpoint in a second place, outside the store. It shows whether a store
// has lost its end or was restored from an older backup. Two copies, FILE and FILE.previous: one of
// them is whole at any moment. Not thread safe; only one process may write.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace dpledger {

class CheckpointFile {
 public:
  explicit CheckpointFile(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }

  // The existing copies, the newest first. An empty list is not an error. Errors of the disk;
  // INVALID_ARGUMENT for a file that is too long to be a note.
  absl::StatusOr<std::vector<std::string>> Read() const;

  // Whether the file or its previous one is there, with a copy in it or not.
  bool IsThere() const;
  // Writes a file that says that nothing was signed yet, unless one is there: done before a key is
  // made, so that a key without the file means that the file was lost. No copy; Read passes it
  // over.
  absl::Status MarkNew() const;

  // Renames FILE to FILE.previous and writes `note` to FILE; durable on return.
  absl::Status Write(const std::string& note);

 private:
  const std::string path_;
};

}  // namespace dpledger
