// SHA-256, fast for the short inputs of a Merkle tree. Thread safe.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace dpledger::merkle {

using Hash = std::array<uint8_t, 32>;

// The hash of the concatenated parts.
Hash Sha256(std::initializer_list<std::string_view> parts);

}  // namespace dpledger::merkle
