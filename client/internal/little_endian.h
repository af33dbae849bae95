// The machine's words as bytes, least significant first.
#pragma once

#include <bit>
#include <cstdint>

namespace dpledger::client::internal {

// To and from: its own inverse.
constexpr uint64_t LittleEndian(uint64_t word) {
  return std::endian::native == std::endian::little ? word : __builtin_bswap64(word);
}

}  // namespace dpledger::client::internal
