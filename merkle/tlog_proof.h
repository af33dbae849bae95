// A proof, verifiable without the log, that an entry is in a tree whose checkpoint the log signed
// and witnesses cosigned. C2SP tlog-proof (https://c2sp.org/tlog-proof@v1); the file extension is
// .tlog-proof.
//
// Canonical: ParseTlogProof accepts only what TlogProofText writes. No I/O. Thread safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "merkle/checkpoint.h"
#include "merkle/sha256.h"
#include "merkle/signed_note.h"

namespace dpledger::merkle {

inline constexpr size_t kMaxTlogProofBytes = size_t{2} << 20;

struct TlogProof {
  std::string extra;         // any bytes; not signed
  uint64_t index = 0;        // of the entry, from 0
  std::vector<Hash> hashes;  // the inclusion proof, from the leaf's sibling up
  Note checkpoint;
};

// INVALID_ARGUMENT for what ParseTlogProof would refuse.
absl::StatusOr<std::string> TlogProofText(const TlogProof& proof);

// INVALID_ARGUMENT for anything that does not follow the format, for more than 63 hashes or 2 MiB,
// and if the note below is no checkpoint. Verifies nothing.
absl::StatusOr<TlogProof> ParseTlogProof(std::string_view text);

// The checkpoint, if one of the log's keys signed it and the leaf is in its tree at the proof's
// index. Witnesses: VerifyNote on proof.checkpoint, with their keys. Errors of OpenCheckpoint and
// VerifyInclusion.
absl::StatusOr<Checkpoint> VerifyTlogProof(const TlogProof& proof, const Hash& leaf_hash,
                                           std::string_view origin,
                                           std::span<const VerifierKey> log_keys);

}  // namespace dpledger::merkle
