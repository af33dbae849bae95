// Words at which rounding a Gaussian is hard, and what holds a kernel that rounds against integers.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <vector>

#include "client/internal/noise_kernels.h"
#include "client/rounded_gaussian.h"

namespace dpledger::client {

using Words = std::vector<uint64_t>;

// Pairs of words, of which a quarter have U1 at the lower and a quarter at the upper end of the
// fast range or beyond, and some an angle next to the axes.
inline Words HardWords(size_t pairs, uint64_t seed) {
  std::mt19937_64 random(seed);
  Words words(2 * pairs);
  for (size_t i = 0; i < words.size(); i += 2) {
    uint64_t& u1 = words[i];
    uint64_t& u2 = words[i + 1];
    u1 = random();
    u2 = random();
    if (i % 8 == 0) u1 >>= u2 % 19;
    if (i % 8 == 2) u1 = ~(u1 >> u2 % 31);
    if (i % 32 == 4) u2 = ((u2 & 7) << 61) + static_cast<uint64_t>(static_cast<int64_t>(u2) >> 40);
  }
  return words;
}

struct Comparison {
  size_t decided = 0, open = 0, wrong = 0;
};

using Kernel = std::function<std::vector<uint32_t>(const Words&, int64_t, std::vector<int64_t>&)>;

// What a kernel decides beside what integers decide from a continuation of the bits, and if
// `extremes` from the least and the greatest, too.
inline Comparison CompareWithIntegers(const Kernel& kernel, const Words& words, int64_t sigma,
                                      bool extremes = true) {
  std::vector<int64_t> noise(words.size());
  const std::vector<uint32_t> undecided = kernel(words, sigma, noise);
  Comparison result;
  auto next = undecided.begin();
  for (size_t p = 0; p < words.size() / 2; ++p) {
    if (next != undecided.end() && *next == p) {
      ++next;
      ++result.open;
      continue;
    }
    ++result.decided;
    const uint64_t other = words[2 * p] * words[2 * p + 1];
    for (const uint64_t rest : {other, uint64_t{0}, ~uint64_t{0}}) {
      if (rest != other && !extremes) continue;
      const auto pair = internal::WidePair({words[2 * p], rest}, {words[2 * p + 1], rest}, sigma);
      if (pair && ((*pair)[0] != noise[2 * p] || (*pair)[1] != noise[2 * p + 1])) {
        ++result.wrong;
        break;
      }
    }
  }
  EXPECT_EQ(next, undecided.end()) << "out of order";
  return result;
}

inline std::vector<uint32_t> RoundPairs(const Words& words, int64_t sigma,
                                        std::vector<int64_t>& noise) {
  std::vector<uint32_t> undecided(words.size() / 2);
  undecided.resize(
      internal::RoundPairs(words.data(), words.size() / 2, sigma, noise.data(), undecided.data()));
  std::sort(undecided.begin(), undecided.end());
  return undecided;
}

// What 64 bits of each uniform decide in double precision; nullopt where they leave it open.
inline std::optional<std::array<int64_t, 2>> FastPair(uint64_t u1, uint64_t u2, int64_t sigma) {
  Words words(2 * internal::kPairStep);  // zeros behind it are left open, which nobody asks
  words[0] = u1;
  words[1] = u2;
  std::vector<int64_t> noise(words.size());
  if (RoundPairs(words, sigma, noise).front() == 0) return std::nullopt;
  return {{noise[0], noise[1]}};
}

}  // namespace dpledger::client
