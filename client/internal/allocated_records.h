// Records that each go to one of several rounds, chosen uniformly and independently of the others
// (docs/formats.md, section 3.7).
#pragma once

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "client/internal/uniform_integers.h"
#include "client/key_stream.h"

namespace dpledger::client::internal {

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
