// Two standard normals by Box-Muller from the first 64 bits of each uniform, with a certified
// error.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>

#include "client/internal/fast_log.h"

namespace dpledger::client::internal {

// {sqrt(-2 ln U1) cos(2 pi U2), the same with sin}, each within 2^-47 of the true value for every
// continuation of the bits. nullopt outside U1 in [2^-18, 1 - 2^-30]: below, 64 bits of U1 say too
// little about the radius; above, too little about its square root. Derivation: client/CLAIM.md,
// line N. Assumes round-to-nearest and log, log1p, sin, cos within 2 ulp; glibc documents 1.
inline std::optional<std::array<double, 2>> FastNormals(uint64_t u1, uint64_t u2) {
  if (u1 < uint64_t{1} << 46 || u1 > ~(uint64_t{1} << 34)) return std::nullopt;
  const double radius = std::sqrt(2 * NegativeLog(u1).value);

  // 2 pi U2 = quarter * pi/2 + angle with |angle| <= pi/4; the split is exact, in integers.
  const uint64_t quarter = (u2 + (uint64_t{1} << 61)) >> 62;
  const auto rest = static_cast<int64_t>(u2 - (quarter << 62));
  const double angle = (static_cast<double>(rest) + 0.5) * 0x1.921fb54442d18p-62;  // 2 pi 2^-64
  const double x = radius * std::cos(angle), y = radius * std::sin(angle);
  switch (quarter & 3) {
    case 0:
      return {{x, y}};
    case 1:
      return {{-y, x}};
    case 2:
      return {{-x, -y}};
    default:
      return {{y, -x}};
  }
}

}  // namespace dpledger::client::internal
