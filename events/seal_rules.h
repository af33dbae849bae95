// The number of writers that a ledger may have, and a SEAL's list of those that have not closed. An
// entry has at most 65,535 bytes, so SEAL gives only the number and the digest of a long list.
// Nothing is lost: to take or read the entries is to know the writers.
//
// Pure; thread safe.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "dpledger/v1/ledger.pb.h"

namespace dpledger::events {

// A ledger has at most this many writers, the server itself counted: readers of bundles have room
// for them.
inline constexpr size_t kMostWriters = size_t{1} << 20;

// SealOf names at most this many writers, 33 KB of names; it counts and hashes more.
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
