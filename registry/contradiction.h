// Evidence that a registry contradicts itself: a few files that convince anybody who knows the key
// that it is signed with, and needs to believe nobody else. docs/witness.md describes the files.
// Thread safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "merkle/signed_note.h"

namespace dpledger::registry {

// By name.
using ContradictionFiles = std::map<std::string, std::string>;

inline constexpr char kNoteFile[] = "checkpoint";                 // the later signed note
inline constexpr char kEarlierNoteFile[] = "earlier-checkpoint";  // the earlier one
// The earlier size, the root of that many entries under the later note (base64), and the hashes of
// the consistency proof, one a line.
inline constexpr char kConsistencyFile[] = "consistency-proof";
// An entry under the later note, and its C2SP tlog-proof.
std::string EntryFile(uint64_t index);
std::string EntryProofFile(uint64_t index);

// One sentence that says what the files prove: two roots for one size, a later history that does
// not begin with the earlier one, or two entries of one registry that cannot both be true.
// INVALID_ARGUMENT, saying why, if they prove nothing under these keys of the log.
absl::StatusOr<std::string> CheckContradiction(const ContradictionFiles& files,
                                               const std::vector<merkle::VerifierKey>& keys);

}  // namespace dpledger::registry
