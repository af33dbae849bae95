#include "client/internal/tree_encoder.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace dpledger::client::internal {

size_t TreeEncoder::Messages(uint64_t step) const {
  return static_cast<size_t>(std::countr_zero(step)) + 1;
}

void TreeEncoder::Encode(uint64_t step, size_t level, absl::Span<int64_t> sums,
                         absl::Span<int64_t> message) {
  // `sums` becomes that of the interval of the level.
  if (level > 0) AddModulo(left_sums_[level - 1].values(), sums);
  AddModulo(sums, message);
  if (level + 1 < Messages(step)) return;
  if (level == left_sums_.size()) left_sums_.emplace_back(size_);
  std::copy(sums.begin(), sums.end(), left_sums_[level].values().begin());
}

void TreeEncoder::Decode(uint64_t step, size_t level, absl::Span<const int64_t> message,
                         absl::Span<float> estimates) {
  const double own =
      std::ldexp(1, static_cast<int>(level)) / (std::ldexp(1, static_cast<int>(level) + 1) - 1);
  for (size_t i = 0; i < size_; ++i) {
    const auto value = static_cast<double>(message[i]);
    estimate_[i] = level == 0
                       ? value
                       : own * value + (1 - own) * (left_estimates_[level - 1][i] + estimate_[i]);
  }
  if (level + 1 < Messages(step)) return;
  // The intervals below are those of steps 1 to step - 1 that are not in any of a higher level.
  for (size_t i = 0; i < size_; ++i) {
    double difference = estimate_[i];
    for (size_t below = 0; below < level; ++below) difference -= left_estimates_[below][i];
    estimates[i] = static_cast<float>(difference);
  }
  if (level == left_estimates_.size()) left_estimates_.emplace_back();
  left_estimates_[level] = estimate_;
}

}  // namespace dpledger::client::internal
