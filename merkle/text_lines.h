// The lines of which the C2SP documents make checkpoints, proofs and requests to witnesses: each
// ended by a newline, numbers as plain decimals, hashes as base 64, one spelling for each value. No
// I/O. Thread safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "merkle/sha256.h"

namespace dpledger::merkle {

// Takes the first line from the front of `text`, without its newline; nothing, and `text` as it
// was, if no newline is left.
std::optional<std::string_view> TakeLine(std::string_view& text);

// A decimal below 2^64 without sign, blanks and leading zeros; nothing for anything else.
std::optional<uint64_t> ParseDecimal(std::string_view text);

std::string HashToBase64(const Hash& hash);
// Nothing for what HashToBase64 does not write.
std::optional<Hash> ParseHash(std::string_view text);

}  // namespace dpledger::merkle
