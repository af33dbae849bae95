// A buffered linear Toeplitz encoder in integers: c_0 = 1, c_j = sum over buffers of w q^(j-1) for
// weights w and decays q in multiples of 2^-16; and what rounding inside the buffers can do.
//
// Of a step's sums, cut to kMostSum either way, buffer i keeps B = floor(q B) + 2^f S, in units of
// 2^-f of a sum: f is what 62 bits leave. So two runs whose exact buffers differ by x have ones
// that differ by x and an error below 1 + q + q^2 + ... = 1/(1 - q) of their units.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace dpledger::client::internal {

struct BufferPlan {
  static constexpr int kBits = 16;  // of weights and decays
  // Sums are cut to this, either way: 1-Lipschitz, so nothing moves further apart.
  static constexpr int64_t kMostSum = int64_t{1} << 36;
  // 1 - q is at least 2^-kMostMemory.
  static constexpr int kMostMemory = 13;
  // What the buffers add to a message is summed up in eighths of its unit.
  static constexpr int kGuardBits = 3;

  struct Buffer {
    uint32_t weight, decay;  // 2^16 w and 2^16 q
    int fraction_bits;       // f
  };
  std::vector<Buffer> buffers;

  // `weights` (rounded down) add up to at most 1, `decays` (rounded) are in [0, 1 - 2^-13]; as
  // many of the one as of the other.
  static BufferPlan For(absl::Span<const double> weights, absl::Span<const double> decays);

  // By how much, at most, a coordinate of one message can differ between two runs beyond what the
  // coefficients say, in units of 2^-message_bits of a sum.
  double Slack(int message_bits) const;

  // c_0 to c_{count - 1}, rounded up; they do not increase.
  std::vector<double> CoefficientsUp(uint64_t count) const;
};

}  // namespace dpledger::client::internal
