#include "client/internal/encoder.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

#include "client/internal/band_kernels.h"
#include "client/internal/buffer_plan.h"
#include "client/internal/noise_kernels.h"

namespace dpledger::client::internal {
namespace {

// Tree aggregation: step t sends the sum over each dyadic interval of steps that ends with it, the
// shortest first. At most one sum a level is kept of the past, that of the left half of an interval
// that is not complete yet.
//
// An interval's sum is estimated from its own message and from the estimates of its halves, by the
// weights of least variance (Honaker 2015, estimate from below): v_0 = 1, and v_l = 2^l / (2^(l+1)
// - 1) is both the weight of the own message and the variance in units of a message's.
class TreeEncoder : public Encoder {
 public:
  explicit TreeEncoder(size_t size) : size_(size) {}

  size_t Messages(uint64_t step) const override {
    return static_cast<size_t>(std::countr_zero(step)) + 1;
  }

  void Begin(uint64_t step) override {
    while (left_sums_.size() < Messages(step)) left_sums_.emplace_back(size_);
    while (left_estimates_.size() < Messages(step)) left_estimates_.emplace_back(size_);
  }

  void Encode(uint64_t step, size_t level, size_t begin, absl::Span<int64_t> sums,
              absl::Span<int64_t> message) override {
    // `sums` becomes that of the interval of the level.
    const auto left = [&](size_t at) {
      return left_sums_[at].values().subspan(begin, sums.size());
    };
    if (level > 0) AddModulo(left(level - 1).data(), sums.size(), sums.data());
    AddModulo(sums.data(), sums.size(), message.data());
    if (level + 1 < Messages(step)) return;
    std::copy(sums.begin(), sums.end(), left(level).begin());
  }

  void Decode(uint64_t step, size_t level, size_t begin, absl::Span<const int64_t> message,
              absl::Span<float> estimates) override {
    const double own =
        std::ldexp(1, static_cast<int>(level)) / (std::ldexp(1, static_cast<int>(level) + 1) - 1);
    const auto left = [&](size_t at) { return left_estimates_[at].data() + begin; };
    double* const estimate = left(Messages(step) - 1);
    for (size_t i = 0; i < message.size(); ++i) {
      const auto value = static_cast<double>(message[i]);
      estimate[i] =
          level == 0 ? value : own * value + (1 - own) * (left(level - 1)[i] + estimate[i]);
    }
    if (level + 1 < Messages(step)) return;
    // The intervals below are those of steps 1 to step - 1 that are not in any of a higher level.
    for (size_t i = 0; i < message.size(); ++i) {
      double difference = estimate[i];
      for (size_t below = 0; below < level; ++below) difference -= left(below)[i];
      estimates[i] = static_cast<float>(difference);
    }
  }

  void Save(StateWriter& to) const override {
    to.Number(left_sums_.size());
    for (const SecretSums& left : left_sums_) to.Array(left.values());
    for (const auto& left : left_estimates_) to.Array(absl::MakeConstSpan(left));
  }
  void Restore(StateReader& from) override {
    const uint64_t levels = from.Number();
    if (levels > 0 && levels <= 64) Begin(uint64_t{1} << (levels - 1));
    for (SecretSums& left : left_sums_) from.Array(left.values());
    for (auto& left : left_estimates_) from.Array(absl::MakeSpan(left));
  }

 private:
  size_t size_;
  // Of the left halves, by level. At the level of a step's last message there is none: there the
  // step's own are worked out.
  std::vector<SecretSums> left_sums_;
  std::vector<std::vector<double>> left_estimates_;
};

// Banded Toeplitz: step t sends a_0 S_t + ... + a_{b-1} S_{t-b+1}, for integers a; the sums of b -
// 1 steps are kept, and as many estimates g_t = (Y_t - a_1 g_{t-1} - ... - a_{b-1} g_{t-b+1}) / a_0
// of them, from the messages Y.
//
// What is kept lies in blocks of kHistoryBlock coordinates, which a step reads from the first to
// the last byte (client/internal/band_kernels.h).
class BandedEncoder : public Encoder {
 public:
  // a_0 is a power of two, all are at most 2^20.
  BandedEncoder(std::vector<uint32_t> coefficients, size_t size)
      : coefficients_(AtLeastTwo(std::move(coefficients))),
        past_sums_(HistorySize(band_, size)),
        past_estimates_(HistorySize(band_, size)) {}

  size_t Messages(uint64_t) const override { return 1; }

  void Encode(uint64_t step, size_t, size_t begin, absl::Span<int64_t> sums,
              absl::Span<int64_t> message) override {
    EncodeBand(coefficients_.data(), band_, step, sums.size(), sums.data(),
               past_sums_.values().data() + begin * band_, message.data());
  }
  void Decode(uint64_t step, size_t, size_t begin, absl::Span<const int64_t> message,
              absl::Span<float> estimates) override {
    DecodeBand(coefficients_.data(), band_, step, message.size(), message.data(),
               past_estimates_.data() + begin * band_, estimates.data());
  }

  void Save(StateWriter& to) const override {
    to.Array(past_sums_.values());
    to.Array(absl::MakeConstSpan(past_estimates_));
  }
  void Restore(StateReader& from) override {
    from.Array(past_sums_.values());
    from.Array(absl::MakeSpan(past_estimates_));
  }

 private:
  // A ring has at least one place.
  static std::vector<uint32_t> AtLeastTwo(std::vector<uint32_t> coefficients) {
    if (coefficients.size() == 1) coefficients.push_back(0);
    return coefficients;
  }

  const std::vector<uint32_t> coefficients_;
  const size_t band_ = coefficients_.size() - 1;
  SecretSums past_sums_;
  std::vector<float> past_estimates_;
};

// Buffered linear Toeplitz (BLT): step t sends S_t and a weighted sum of a few buffers, each a
// decaying sum of the steps before. Coefficients of a whole run at the memory of a few vectors.
//
// The buffers are integers and rounded (client/internal/buffer_plan.h), by a known bound that is
// charged: this encoder is linear but for that.
class BufferedEncoder : public Encoder {
 public:
  BufferedEncoder(BufferPlan plan, size_t size) : plan_(std::move(plan)) {
    for (size_t b = 0; b < plan_.buffers.size(); ++b) {
      sum_buffers_.emplace_back(size);
      estimate_buffers_.emplace_back(size);
    }
  }

  size_t Messages(uint64_t) const override { return 1; }

  void Encode(uint64_t, size_t, size_t begin, absl::Span<int64_t> sums,
              absl::Span<int64_t> message) override {
    std::array<BufferOfSums, BufferPlan::kMostBuffers> buffers;
    for (size_t b = 0; b < sum_buffers_.size(); ++b) {
      buffers[b] = {plan_.buffers[b], sum_buffers_[b].values().data() + begin};
    }
    EncodeBuffers(buffers.data(), sum_buffers_.size(), sums.size(), sums.data(), message.data());
  }

  void Decode(uint64_t, size_t, size_t begin, absl::Span<const int64_t> message,
              absl::Span<float> estimates) override {
    constexpr size_t kBlock = 512;  // coordinates that stay in the nearest cache throughout
    const double unit = std::ldexp(1, -BufferPlan::kMessageBits);
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

  void Save(StateWriter& to) const override {
    for (const SecretSums& buffer : sum_buffers_) to.Array(buffer.values());
    for (const auto& buffer : estimate_buffers_) to.Array(absl::MakeConstSpan(buffer));
  }
  void Restore(StateReader& from) override {
    for (SecretSums& buffer : sum_buffers_) from.Array(buffer.values());
    for (auto& buffer : estimate_buffers_) from.Array(absl::MakeSpan(buffer));
  }

 private:
  const BufferPlan plan_;
  // One for each buffer: of the sums, and of their estimates.
  std::vector<SecretSums> sum_buffers_;
  std::vector<std::vector<double>> estimate_buffers_;
};

static_assert(BufferPlan::kMessageBits == kCoefficientBits);

}  // namespace

std::unique_ptr<Encoder> MakeEncoder(const CorrelatedOptions& options, size_t size) {
  if (const auto* banded = std::get_if<BandedToeplitz>(&options.encoder)) {
    return std::make_unique<BandedEncoder>(IntegerCoefficients(*banded), size);
  }
  if (const auto* buffered = std::get_if<BufferedToeplitz>(&options.encoder)) {
    return std::make_unique<BufferedEncoder>(BufferPlan::For(buffered->weights, buffered->decays),
                                             size);
  }
  return std::make_unique<TreeEncoder>(size);
}

}  // namespace dpledger::client::internal
