// Exactly uniform integers: floor(b U) for infinite uniform bit strings U, of which as many words
// are read as the answer needs (docs/formats.md, section 3.1); and records that each go to one of
// several rounds by them, independently of the others (section 3.7).
#pragma once

#include <array>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/numeric/int128.h"
#include "absl/types/span.h"
#include "client/root_key.h"

namespace dpledger::client::internal {

// floor(bound * U), where U's words are bits(level), bits(level + 1), ...; bound in [1, 2^53].
inline uint64_t UniformBelow(uint64_t bound, absl::FunctionRef<uint64_t(uint64_t level)> bits,
                             uint64_t level = 0) {
  const absl::uint128 product = absl::uint128(bits(level)) * bound;
  const uint64_t integer = absl::Uint128High64(product), rest = absl::Uint128Low64(product);
  // The words that follow add less than `bound` to the rest.
  if (rest <= -bound) return integer;
  const uint64_t sum = rest + UniformBelow(bound, bits, level + 1);
  return integer + (sum < rest ? 1 : 0);
}

// The integers of one key: the i-th call takes U_i, for i = 0, 1, ...
class UniformIntegers {
 public:
  explicit UniformIntegers(KeyStream key) : key_(std::move(key)) {}

  uint64_t Below(uint64_t bound) {
    const uint64_t at = next_++;
    if (at % words_.size() == 0) key_.Words(StreamOf(0, 0), at / 2, absl::MakeSpan(words_));
    return UniformBelow(bound, [&](uint64_t level) {
      if (level == 0) return words_[at % words_.size()];
      return key_.Block(StreamOf(level, 0), at / 2)[at % 2];
    });
  }

 private:
  KeyStream key_;
  std::array<uint64_t, 512> words_;
  uint64_t next_ = 0;
};

// Records by round, ascending within each: those of round r are order[begins[r]] to
// order[begins[r + 1] - 1]. Empty before they are drawn.
struct RecordsByRound {
  std::vector<uint32_t> order;
  std::vector<uint64_t> begins;

  absl::Span<const uint32_t> Of(uint64_t round) const {
    return absl::MakeConstSpan(order).subspan(begins[round], begins[round + 1] - begins[round]);
  }
};

// `records` in [1, 2^32], `rounds` in [1, 2^53]. Takes eight bytes a record while it draws.
inline RecordsByRound AllocateRecords(KeyStream key, uint64_t records, uint64_t rounds) {
  UniformIntegers uniform(std::move(key));
  std::vector<uint32_t> chosen(records);
  RecordsByRound all;
  all.begins.assign(rounds + 1, 0);
  for (uint32_t& round : chosen) {
    round = static_cast<uint32_t>(uniform.Below(rounds));
    ++all.begins[round + 1];
  }
  std::partial_sum(all.begins.begin(), all.begins.end(), all.begins.begin());
  all.order.resize(records);
  std::vector<uint64_t> next(all.begins);
  for (uint64_t record = 0; record < records; ++record) {
    all.order[next[chosen[record]]++] = static_cast<uint32_t>(record);
  }
  return all;
}

}  // namespace dpledger::client::internal
