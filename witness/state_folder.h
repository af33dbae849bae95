// The state that a witness must never lose: for each log, the note of the last checkpoint that it
// cosigned, in a file "<SHA-256 of the origin in hexadecimal>.checkpoint", and what the log's
// entries said, beside it.
//
// 1. After Write returns OK the note is durable; a crash leaves the old note or the new one.
// 2. One process at a time: a lock file in the folder ensures it.
// Thread safe for different origins.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "merkle/signed_note.h"

namespace dpledger::witness {

// SHA-256 of the origin as 64 hexadecimal digits: C2SP tlog-witness names logs so in URLs.
std::string OriginHash(std::string_view origin);

class StateFolder {
 public:
  // Opens the folder, or makes it. FAILED_PRECONDITION (STATE_IN_USE) if another process has it
  // open.
  static absl::StatusOr<std::unique_ptr<StateFolder>> Open(const std::string& path);
  ~StateFolder();
  StateFolder(const StateFolder&) = delete;
  StateFolder& operator=(const StateFolder&) = delete;

  // The log's note; nullopt if there is none. DATA_LOSS, naming the file, if it holds no note.
  // Verifies nothing.
  absl::StatusOr<std::optional<merkle::Note>> Read(std::string_view origin) const;
  // Replaces the log's note. After an error either the old or the new note may be on the disk.
  absl::Status Write(std::string_view origin, const merkle::Note& note);

  std::string PathOf(std::string_view origin) const;
  // The file that remembers the log's entries so far (registry/follower.h).
  std::string RegistryPathOf(std::string_view origin) const;
  // A file of evidence against the log, in "<hash of the origin>.contradiction/".
  absl::Status KeepEvidence(std::string_view origin, const std::string& name,
                            std::string_view content) const;

 private:
  StateFolder(std::string path, int lock_fd) : path_(std::move(path)), lock_fd_(lock_fd) {}

  const std::string path_;
  const int lock_fd_;
};

}  // namespace dpledger::witness
