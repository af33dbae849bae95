// The common end of a C2SP tlog-proof and of a request to a C2SP witness: the proof's hashes in
// base 64, one a line, an empty line, and a checkpoint's note. Canonical: one text for each value.
// No I/O. Thread safe.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "merkle/sha256.h"
#include "merkle/signed_note.h"

namespace dpledger::merkle {

struct ProofLines {
  std::vector<Hash> hashes;
  Note checkpoint;
};

std::string ProofLinesText(std::span<const Hash> hashes, const Note& checkpoint);

// INVALID_ARGUMENT naming `field` for anything that ProofLinesText does not write, for more than 63
// hashes, and for a note that is no checkpoint. Verifies nothing.
absl::StatusOr<ProofLines> ParseProofLines(std::string_view field, std::string_view text);

}  // namespace dpledger::merkle
