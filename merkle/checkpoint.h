// What a log signs: its name, how many leaves its tree has, and the root. C2SP tlog-checkpoint
// (https://c2sp.org/tlog-checkpoint).
//
// 1. One spelling: CheckpointText of what ParseCheckpoint gives is what it was given.
// 2. A log never signs two checkpoints of which one is not the beginning of the other; that is the
//    caller's to keep.
// No I/O. Thread safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "merkle/sha256.h"
#include "merkle/signed_note.h"

namespace dpledger::merkle {

struct Checkpoint {
  std::string origin;  // one line, not empty
  uint64_t size = 0;   // leaves, at most 2^63
  Hash root{};
  std::vector<std::string> extensions;  // lines, not empty; ours have none

  bool operator==(const Checkpoint&) const = default;
};

// The text of the note. INVALID_ARGUMENT for an origin or extension that is empty or has a control
// character or is not UTF-8, and for a size above 2^63.
absl::StatusOr<std::string> CheckpointText(const Checkpoint& checkpoint);

// From the text of a note, without its signatures. INVALID_ARGUMENT unless CheckpointText writes
// it.
absl::StatusOr<Checkpoint> ParseCheckpoint(std::string_view text);

// The checkpoint of a note that one of the log's keys signed. INVALID_ARGUMENT if it is no
// checkpoint or that of another origin; errors of VerifyNote.
absl::StatusOr<Checkpoint> OpenCheckpoint(const Note& note, std::string_view origin,
                                          std::span<const VerifierKey> log_keys);

}  // namespace dpledger::merkle
