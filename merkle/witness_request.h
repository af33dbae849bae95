// The request by which a log has a witness cosign a checkpoint: C2SP tlog-witness
// (https://c2sp.org/tlog-witness), the body of add-checkpoint.
//
// Canonical: ParseWitnessRequest accepts only what WitnessRequestText writes. No I/O. Thread safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "merkle/sha256.h"
#include "merkle/signed_note.h"

namespace dpledger::merkle {

// A checkpoint has at most 64 signatures; each can have the 2.5 kB of an ML-DSA-44 cosignature.
inline constexpr size_t kMaxWitnessRequestBytes = size_t{256} << 10;

struct WitnessRequest {
  uint64_t old_size = 0;    // size of the checkpoint that the witness cosigned last; 0: none
  std::vector<Hash> proof;  // consistency proof from old_size; at most 63 hashes
  Note checkpoint;
};

std::string WitnessRequestText(const WitnessRequest& request);

// INVALID_ARGUMENT for anything that does not follow the format, for more than 63 hashes or
// kMaxWitnessRequestBytes, and if the note below is no checkpoint. Verifies nothing.
absl::StatusOr<WitnessRequest> ParseWitnessRequest(std::string_view text);

}  // namespace dpledger::merkle
