#include "client/internal/tree_encoder.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace dpledger::client::internal {

size_t TreeEncoder::Messages(uint64_t step) const {
  return static_cast<size_t>(std::countr_zero(step)) + 1;
}

void TreeEncoder::Begin(uint64_t step) {
  while (left_sums_.size() < Messages(step)) left_sums_.emplace_back(size_);
  while (left_estimates_.size() < Messages(step)) left_estimates_.emplace_back(size_);
}

void TreeEncoder::Encode(uint64_t step, size_t level, size_t begin, absl::Span<int64_t> sums,
                         absl::Span<int64_t> message) {
  // `sums` becomes that of the interval of the level.
  const auto left = [&](size_t at) { return left_sums_[at].values().subspan(begin, sums.size()); };
  if (level > 0) AddModulo(left(level - 1), sums);
  AddModulo(sums, message);
  if (level + 1 < Messages(step)) return;
  std::copy(sums.begin(), sums.end(), left(level).begin());
}

void TreeEncoder::Decode(uint64_t step, size_t level, size_t begin,
                         absl::Span<const int64_t> message, absl::Span<float> estimates) {
  const double own =
      std::ldexp(1, static_cast<int>(level)) / (std::ldexp(1, static_cast<int>(level) + 1) - 1);
  const auto left = [&](size_t at) { return left_estimates_[at].data() + begin; };
  double* const estimate = left(Messages(step) - 1);
  for (size_t i = 0; i < message.size(); ++i) {
    const auto value = static_cast<double>(message[i]);
    estimate[i] = level == 0 ? value : own * value + (1 - own) * (left(level - 1)[i] + estimate[i]);
  }
  if (level + 1 < Messages(step)) return;
  // The intervals below are those of steps 1 to step - 1 that are not in any of a higher level.
  for (size_t i = 0; i < message.size(); ++i) {
    double difference = estimate[i];
    for (size_t below = 0; below < level; ++below) difference -= left(below)[i];
    estimates[i] = static_cast<float>(difference);
  }
}

void TreeEncoder::Save(StateWriter& to) const {
  to.Number(left_sums_.size());
  for (const SecretSums& left : left_sums_) to.Array(left.values());
  for (const auto& left : left_estimates_) to.Array(absl::MakeConstSpan(left));
}

void TreeEncoder::Restore(StateReader& from) {
  const uint64_t levels = from.Number();
  if (levels > 0 && levels <= 64) Begin(uint64_t{1} << (levels - 1));
  for (SecretSums& left : left_sums_) from.Array(left.values());
  for (auto& left : left_estimates_) from.Array(absl::MakeSpan(left));
}

}  // namespace dpledger::client::internal
