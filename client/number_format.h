// The number formats that gradients may have. All are widened to 32-bit floats before anything
// else is done with them, which is exact: NaN and infinities stay what they are, subnormals get
// their value.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace dpledger::client {

enum class NumberFormat {
  kFloat32,   // IEEE 754 binary32
  kBfloat16,  // the upper half of a binary32
  kFloat16,   // IEEE 754 binary16
};

constexpr size_t BytesOf(NumberFormat format) { return format == NumberFormat::kFloat32 ? 4 : 2; }

// By the bits of the number.
constexpr float FromBfloat16(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

constexpr float FromFloat16(uint16_t bits) {
  const uint32_t magnitude = bits & 0x7fff;
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  // Subnormal: units of 2^-24.
  if (magnitude < 0x0400) {
    const float value = static_cast<float>(magnitude) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<uint32_t>(value) | sign);
  }
  // The exponent's bias is 15 here and 127 there; all ones stay all ones.
  constexpr uint32_t kRebias = uint32_t{127 - 15} << 23;
  const uint32_t top = magnitude >= 0x7c00 ? kRebias : 0;
  return std::bit_cast<float>(((magnitude << 13) + kRebias + top) | sign);
}

// The number at index i of those that begin at `first`.
inline float NumberAt(NumberFormat format, const void* first, size_t i) {
  switch (format) {
    case NumberFormat::kFloat32:
      return static_cast<const float*>(first)[i];
    case NumberFormat::kBfloat16:
      return FromBfloat16(static_cast<const uint16_t*>(first)[i]);
    case NumberFormat::kFloat16:
      return FromFloat16(static_cast<const uint16_t*>(first)[i]);
  }
  return 0;
}

}  // namespace dpledger::client
