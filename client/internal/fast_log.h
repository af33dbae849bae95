// -ln U for a uniform U of which 64 bits are known, in double precision with a certified error.
#pragma once

#include <cmath>
#include <cstdint>

namespace dpledger::client::internal {

struct CertifiedLog {
  double value;
  double error;  // |value + ln U| <= error for every U in [word, word + 1] * 2^-64
};

// Any word, 0 and 2^64 - 1 included (their error is as large as it must be). Derivation:
// client/CLAIM.md, line L. Assumes round-to-nearest and log, log1p within 2 ulp; glibc documents 1.
inline CertifiedLog NegativeLog(uint64_t word) {
  // The midpoint of the interval, taken from the end that is nearer, so that values near U = 1 keep
  // their digits.
  const bool near_one = word >> 63;
  const double distance = (static_cast<double>(near_one ? ~word : word) + 0.5) * 0x1p-64;
  const double value = near_one ? -std::log1p(-distance) : -std::log(distance);
  // The interval's half width in ln U; rounding of the argument and of the result.
  const double width = near_one ? 0x1p-64 : 0.5 / static_cast<double>(word);
  return {value, width + 0x1p-50 * value + (near_one ? 0 : 0x1p-52)};
}

}  // namespace dpledger::client::internal
