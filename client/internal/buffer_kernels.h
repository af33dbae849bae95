// The inner loop of buffered noise by the widest vector registers; the same integers on every
// machine (docs/formats.md, section 3.9).
//
// Thread safe: the caller owns the memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dpledger::client::internal {

inline constexpr size_t kMaxBuffers = 16;

// Of client/internal/buffer_plan.h, with its values.
struct BufferOfSums {
  uint32_t weight, decay;
  int fraction_bits;  // at least 13
  int64_t* values;
};

// For each of `size` coordinates, with s = sums[i] cut to `most_sum` either way: adds to message[i]
//   2^message_bits s + floor(sum of floor(weight values[i] / 2^(16 + fraction_bits - message_bits -
//   guard_bits)) / 2^guard_bits)
// modulo 2^64; then values[i] = floor(decay values[i] / 2^16) + 2^fraction_bits s. Shifts are in
// [1, 32], and all but the message has 64 bits.
// count <= kMaxBuffers.
void EncodeBuffers(const BufferOfSums* buffers, size_t count, int64_t most_sum, int message_bits,
                   int guard_bits, size_t size, const int64_t* sums, int64_t* message);

}  // namespace dpledger::client::internal
