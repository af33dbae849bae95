// How many writers a ledger may have, and what SEAL says of those that have not closed, whatever
// their number: an entry has at most 65,535 bytes. Whoever takes or reads entries knows the
// writers, so nothing is lost where SEAL gives their number and digest only.
//
// Pure; thread safe.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "dpledger/v1/ledger.pb.h"

namespace dpledger::events {

// A ledger has at most so many writers, the server itself counted: what reads a bundle has room for
// them.
inline constexpr size_t kMostWriters = size_t{1} << 20;

// SealOf names at most so many writers, 33 KB of names; above, it counts and hashes them.
inline constexpr size_t kMostNamedMissing = 500;

// `open`: the writers that have not closed, by name, each once.
v1::Seal SealOf(const std::vector<std::string_view>& open);

// Whether a SEAL without names states these writers. Errors name the rule.
absl::Status CheckCountedMissing(const v1::Seal& seal, const std::vector<std::string_view>& open);

// Whether the SEAL counts its missing writers instead of naming them.
inline bool CountsMissing(const v1::Seal& seal) {
  return seal.missing_count() > 0 || !seal.missing_digest().empty();
}

}  // namespace dpledger::events
