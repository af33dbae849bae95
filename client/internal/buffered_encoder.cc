#include "client/internal/buffered_encoder.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

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
  std::array<int64_t, kBlock> past;  // in guard units
  for (size_t at = 0; at < sums.size(); at += kBlock) {
    const absl::Span<int64_t> sum = sums.subspan(at, kBlock);
    for (int64_t& value : sum) {
      value = std::clamp(value, -BufferPlan::kMostSum, BufferPlan::kMostSum);
    }
    past.fill(0);
    for (size_t b = 0; b < plan_.buffers.size(); ++b) {
      const auto [weight, decay, fraction_bits] = plan_.buffers[b];
      const int shift = BufferPlan::kBits + fraction_bits - message_bits_ - BufferPlan::kGuardBits;
      int64_t* buffer = sum_buffers_[b].values().data() + begin + at;
      for (size_t i = 0; i < sum.size(); ++i) {
        past[i] += MultiplyAndShift(buffer[i], weight, shift);
        buffer[i] = MultiplyAndShift(buffer[i], decay, BufferPlan::kBits) +
                    sum[i] * (int64_t{1} << fraction_bits);
      }
    }
    for (size_t i = 0; i < sum.size(); ++i) {
      past[i] = sum[i] * (int64_t{1} << message_bits_) + (past[i] >> BufferPlan::kGuardBits);
    }
    AddModulo(absl::MakeSpan(past).first(sum.size()), message.subspan(at, sum.size()));
  }
  OPENSSL_cleanse(past.data(), sizeof(past));
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

}  // namespace dpledger::client::internal
