#include "client/internal/buffered_encoder.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "client/internal/buffer_kernels.h"

namespace dpledger::client::internal {
namespace {

// Coordinates that stay in the nearest cache from buffer to buffer.
constexpr size_t kBlock = 512;

}  // namespace

BufferedEncoder::BufferedEncoder(BufferPlan plan, int message_bits, size_t size)
    : plan_(std::move(plan)), message_bits_(message_bits) {
  for (size_t b = 0; b < plan_.buffers.size(); ++b) {
    sum_buffers_.emplace_back(size);
    estimate_buffers_.emplace_back(size);
  }
}

void BufferedEncoder::Encode(uint64_t, size_t, size_t begin, absl::Span<int64_t> sums,
                             absl::Span<int64_t> message) {
  std::vector<BufferOfSums> buffers;
  for (size_t b = 0; b < plan_.buffers.size(); ++b) {
    const auto [weight, decay, fraction_bits] = plan_.buffers[b];
    buffers.push_back({weight, decay, fraction_bits, sum_buffers_[b].values().data() + begin});
  }
  EncodeBuffers(buffers.data(), buffers.size(), BufferPlan::kMostSum, message_bits_,
                BufferPlan::kGuardBits, sums.size(), sums.data(), message.data());
}

void BufferedEncoder::Decode(uint64_t, size_t, size_t begin, absl::Span<const int64_t> message,
                             absl::Span<float> estimates) {
  const double unit = std::ldexp(1, -message_bits_);
  std::array<double, kBlock> estimate;
  for (size_t at = 0; at < message.size(); at += kBlock) {
    const size_t size = std::min(kBlock, message.size() - at);
    for (size_t i = 0; i < size; ++i) {
      estimate[i] = unit * static_cast<double>(message[at + i]);
    }
    for (size_t b = 0; b < plan_.buffers.size(); ++b) {
      const double weight = std::ldexp(plan_.buffers[b].weight, -BufferPlan::kBits);
      const double* buffer = estimate_buffers_[b].data() + begin + at;
      for (size_t i = 0; i < size; ++i) estimate[i] -= weight * buffer[i];
    }
    for (size_t b = 0; b < plan_.buffers.size(); ++b) {
      const double decay = std::ldexp(plan_.buffers[b].decay, -BufferPlan::kBits);
      double* buffer = estimate_buffers_[b].data() + begin + at;
      for (size_t i = 0; i < size; ++i) buffer[i] = decay * buffer[i] + estimate[i];
    }
    for (size_t i = 0; i < size; ++i) estimates[at + i] = static_cast<float>(estimate[i]);
  }
}

void BufferedEncoder::Save(StateWriter& to) const {
  for (const SecretSums& buffer : sum_buffers_) to.Array(buffer.values());
  for (const auto& buffer : estimate_buffers_) to.Array(absl::MakeConstSpan(buffer));
}

void BufferedEncoder::Restore(StateReader& from) {
  for (SecretSums& buffer : sum_buffers_) from.Array(buffer.values());
  for (auto& buffer : estimate_buffers_) from.Array(absl::MakeSpan(buffer));
}

}  // namespace dpledger::client::internal
