// The lines of C2SP checkpoints, proofs and requests to witnesses: each ends with a newline;
// numbers are plain decimals, hashes are base 64; every value has exactly one text. No I/O. Thread
// safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "merkle/sha256.h"

namespace dpledger::merkle {

// Removes the first line from `text` and returns it without its newline. nullopt, with `text`
// unchanged, if no newline is left.
std::optional<std::string_view> TakeLine(std::string_view& text);

// A decimal below 2^64 without sign, blanks and leading zeros; nullopt for anything else.
std::optional<uint64_t> ParseDecimal(std::string_view text);

std::string HashToBase64(const Hash& hash);
// nullopt for anything that HashToBase64 does not write.
std::optional<Hash> ParseHash(std::string_view text);

}  // namespace dpledger::merkle
