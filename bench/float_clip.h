// What exact clipping is compared with: clipping into float sums by the same norms, the same order
// of reading and the same vector registers. And reading a cache by those registers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "client/integer_clip.h"

namespace dpledger::bench {

// sums += min(1, clip_norm / norm) row, for float32 rows of sums.size() numbers, a
// multiple of 4 of them.
void AddFloatClipped(const client::GradientRows& rows, float clip_norm, std::vector<float>& sums);

// Reads `size` bytes, but for a rest below 256, from a cache; a sum of them.
uint64_t ReadCache(const void* data, size_t size);

}  // namespace dpledger::bench
