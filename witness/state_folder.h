// What a witness must never forget: for each log the last checkpoint that it cosigned, one file a
// log, "<SHA-256 of the origin in hexadecimal>.checkpoint", which holds the cosigned note itself.
//
// 1. After Write returns OK the note is durable; a crash leaves the old note or the new one.
// 2. One process at a time: the folder holds a lock file.
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

// SHA-256 of the origin as 64 hexadecimal digits, by which C2SP tlog-witness names a log in URLs.
std::string OriginHash(std::string_view origin);

class StateFolder {
 public:
  // Made if it is missing. FAILED_PRECONDITION (STATE_IN_USE) if another process has it.
  static absl::StatusOr<std::unique_ptr<StateFolder>> Open(const std::string& path);
  ~StateFolder();
  StateFolder(const StateFolder&) = delete;
  StateFolder& operator=(const StateFolder&) = delete;

  // Nothing if there is none. DATA_LOSS, naming the file, if it holds no note; verifies nothing.
  absl::StatusOr<std::optional<merkle::Note>> Read(std::string_view origin) const;
  // After an error nobody knows which of the two notes is on the disk.
  absl::Status Write(std::string_view origin, const merkle::Note& note);

  std::string PathOf(std::string_view origin) const;

 private:
  StateFolder(std::string path, int lock_fd) : path_(std::move(path)), lock_fd_(lock_fd) {}

  const std::string path_;
  const int lock_fd_;
};

}  // namespace dpledger::witness
