// The limit of everything that streams: reading bytes once from memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace dpledger::bench {

// Reads `size` bytes, but for a rest below 256, and returns a sum of them so that the reading is
// not optimised away. Four places at once, each prefetched beyond its page's end, and independent
// sums in registers, so that nothing but the memory is waited for: 17 GB/s where one place alone
// gave 12 (Xeon with AVX-512; its 64-byte loads gave no more than 18).
inline uint64_t ReadMemory(const void* data, size_t size) {
  using Words = uint64_t __attribute__((vector_size(16)));
  constexpr size_t kStreams = 4, kLine = 64, kAhead = 1024;
  Words even[kStreams] = {}, odd[kStreams] = {};
  const auto* bytes = static_cast<const char*>(data);
  const size_t part = size / kStreams / kLine * kLine;
  for (size_t i = 0; i < part; i += kLine) {
#pragma GCC unroll 4
    for (size_t stream = 0; stream < kStreams; ++stream) {
      const char* line = bytes + stream * part + i;
      __builtin_prefetch(line + kAhead);
      Words words[kLine / sizeof(Words)];
      std::memcpy(words, line, kLine);
      even[stream] += words[0] + words[2];
      odd[stream] += words[1] + words[3];
    }
  }
  Words sum = {};
  for (size_t stream = 0; stream < kStreams; ++stream) sum += even[stream] + odd[stream];
  return sum[0] + sum[1];
}

}  // namespace dpledger::bench
