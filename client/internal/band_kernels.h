// The inner loops of banded noise at the speed of memory. The same bits on every machine
// (docs/formats.md, section 3.9).
//
// The values of the last `band` steps lie in one ring for each block of kHistoryBlock coordinates:
// that of step t in place t mod band, all coordinates of a place together. So a step reads one
// stream, however many steps there are, with the results in registers.
//
// Thread safe: the caller owns the memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dpledger::client::internal {

inline constexpr size_t kHistoryBlock = 64;  // kPieceUnit

// Values of a ring's memory for `size` coordinates.
constexpr size_t HistorySize(size_t band, size_t size) {
  return (size + kHistoryBlock - 1) / kHistoryBlock * kHistoryBlock * band;
}

// With a = coefficients, of which there are band + 1:
//   message[i] += a[0] sums[i] + a[1] (sums[i] one step ago) + ... + a[band] (band steps ago),
// modulo 2^64. Then `sums` takes its place in the ring.
void EncodeBand(const uint32_t* coefficients, size_t band, uint64_t step, size_t size,
                const int64_t* sums, int64_t* history, int64_t* message);

//   x = message[i] - a[band] (estimate of band steps ago) - ... - a[1] (one step ago)
// in doubles, subtracted in that order; estimates[i] = x / a[0], rounded to float, takes its place
// in the ring. a[0] is a power of two, and all are below 2^29, so that products are exact.
void DecodeBand(const uint32_t* coefficients, size_t band, uint64_t step, size_t size,
                const int64_t* message, float* history, float* estimates);

}  // namespace dpledger::client::internal
