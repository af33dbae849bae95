// What an auditor keeps of a ledger that was verified: the keys that its registry is signed with,
// and the ledger's checkpoint. The next verification believes those keys, and demands that the
// ledger still begins with what was signed then. One ledger a file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "merkle/signed_note.h"

namespace dpledger::cli {

struct Pin {
  std::vector<merkle::VerifierKey> keys;  // at least one
  merkle::Note checkpoint;
};

// Nothing if there is no such file. INVALID_ARGUMENT, naming the file and the rule, if it is no
// pin.
absl::StatusOr<std::optional<Pin>> ReadPin(const std::string& path);
// The file has the new pin or the old one, whatever happens.
absl::Status WritePin(const std::string& path, const Pin& pin);

}  // namespace dpledger::cli
