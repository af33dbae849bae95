// A buffered linear Toeplitz encoder in integers: c_0 = 1, c_j = sum over buffers of w q^(j-1) for
// weights w and decays q in multiples of 2^-16; and what rounding inside the buffers can do.
//
// Of a step's sums, cut to kMostSum either way, buffer i keeps B = floor(q B) + 2^f S, in units of
// 2^-f of a sum: f is what 62 bits leave. So two runs whose exact buffers differ by x have ones
// that differ by x and an error below 1 + q + q^2 + ... = 1/(1 - q) of their units.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace dpledger::client::internal {

struct BufferPlan {
  static constexpr size_t kMostBuffers = 16;
  static constexpr int kBits = 16;  // of weights and decays
  // Messages are in units of 2^-kMessageBits of a sum.
  static constexpr int kMessageBits = 10;
  // Sums are cut to this, either way: 1-Lipschitz, so nothing moves further apart.
  static constexpr int64_t kMostSum = int64_t{1} << 36;
  // What the buffers add to a message is summed up in eighths of its unit.
  static constexpr int kGuardBits = 3;

  struct Buffer {
    uint32_t weight, decay;  // 2^16 w and 2^16 q
    int fraction_bits;       // f, at least 13
  };
  std::vector<Buffer> buffers;

  // `weights` (rounded down) add up to at most 1, `decays` (rounded) are in [0, 1 - 2^-13]; as
  // many of the one as of the other.
  static BufferPlan For(absl::Span<const double> weights, absl::Span<const double> decays);

  // By how much, at most, a coordinate of one message can differ between two runs beyond what the
  // coefficients say, in units of a message.
  double Slack() const;

  // c_0 to c_{count - 1}, rounded up; they do not increase.
  std::vector<double> CoefficientsUp(uint64_t count) const;
};

// The inner loop, by the widest vector registers; the same integers on every machine
// (docs/formats.md, section 3.9). Thread safe: the caller owns the memory.
//
// A buffer, with its value of each coordinate.
struct BufferOfSums : BufferPlan::Buffer {
  int64_t* values;
};

// For each of `size` coordinates, with s = sums[i] cut to kMostSum either way: adds to message[i]
//   2^kMessageBits s + floor(sum of floor(weight values[i] / 2^(kBits + fraction_bits -
//   kMessageBits - kGuardBits)) / 2^kGuardBits)
// modulo 2^64; then values[i] = floor(decay values[i] / 2^kBits) + 2^fraction_bits s. All but
// the message has 64 bits.
void EncodeBuffers(const BufferOfSums* buffers, size_t count, size_t size, const int64_t* sums,
                   int64_t* message);

}  // namespace dpledger::client::internal
