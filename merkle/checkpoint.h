// Checkpoints, which a log signs: its name (origin), its tree's size in leaves, and the root. C2SP
// tlog-checkpoint (https://c2sp.org/tlog-checkpoint).
//
// 1. Canonical: ParseCheckpoint accepts only what CheckpointText writes.
// 2. Of any two checkpoints that a log signs, one is a prefix of the other. The caller must keep
//    this.
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

// Parses the text of a note, without its signatures. INVALID_ARGUMENT unless CheckpointText writes
// it so.
absl::StatusOr<Checkpoint> ParseCheckpoint(std::string_view text);

// The checkpoint that a note says, whoever signed it. INVALID_ARGUMENT if it is none.
absl::StatusOr<Checkpoint> ReadCheckpoint(std::string_view note);
// Whether a note says, whoever signed it, this origin, size and root (32 bytes).
bool StatesTree(std::string_view note, std::string_view origin, uint64_t size,
                std::string_view root);

// The checkpoint in a note that one of `log_keys` signed. INVALID_ARGUMENT if the note is no
// checkpoint or has another origin; errors of VerifyNote.
absl::StatusOr<Checkpoint> OpenCheckpoint(const Note& note, std::string_view origin,
                                          std::span<const VerifierKey> log_keys);
absl::StatusOr<Checkpoint> OpenCheckpoint(std::string_view note, std::string_view origin,
                                          std::span<const VerifierKey> log_keys);

}  // namespace dpledger::merkle
