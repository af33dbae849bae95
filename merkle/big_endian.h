// Numbers in stored and signed bytes: big-endian, of a fixed width. Thread safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dpledger::merkle {

// The lowest `bytes` (1..8) bytes of `number`.
inline std::string BigEndian(uint64_t number, int bytes = 8) {
  std::string text;
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
    text.push_back(static_cast<char>(number >> shift & 0xff));
  }
  return text;
}

// Of at most 8 bytes.
inline uint64_t FromBigEndian(std::string_view bytes) {
  uint64_t number = 0;
  for (const char byte : bytes) number = number << 8 | static_cast<uint8_t>(byte);
  return number;
}

}  // namespace dpledger::merkle
