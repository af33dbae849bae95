#include "client/internal/banded_encoder.h"

#include <utility>

#include "client/internal/band_kernels.h"

namespace dpledger::client::internal {

namespace {

// A ring has at least one place.
std::vector<uint32_t> AtLeastTwo(std::vector<uint32_t> coefficients) {
  if (coefficients.size() == 1) coefficients.push_back(0);
  return coefficients;
}

}  // namespace

BandedEncoder::BandedEncoder(std::vector<uint32_t> coefficients, size_t size)
    : coefficients_(AtLeastTwo(std::move(coefficients))),
      past_sums_(HistorySize(coefficients_.size() - 1, size)),
      past_estimates_(HistorySize(coefficients_.size() - 1, size)) {}

void BandedEncoder::Encode(uint64_t step, size_t, size_t begin, absl::Span<int64_t> sums,
                           absl::Span<int64_t> message) {
  const size_t band = coefficients_.size() - 1;
  EncodeBand(coefficients_.data(), band, step, sums.size(), sums.data(),
             past_sums_.values().data() + begin * band, message.data());
}

void BandedEncoder::Decode(uint64_t step, size_t, size_t begin, absl::Span<const int64_t> message,
                           absl::Span<float> estimates) {
  const size_t band = coefficients_.size() - 1;
  DecodeBand(coefficients_.data(), band, step, message.size(), message.data(),
             past_estimates_.data() + begin * band, estimates.data());
}

void BandedEncoder::Save(StateWriter& to) const {
  to.Array(past_sums_.values());
  to.Array(absl::MakeConstSpan(past_estimates_));
}

void BandedEncoder::Restore(StateReader& from) {
  from.Array(past_sums_.values());
  from.Array(absl::MakeSpan(past_estimates_));
}

}  // namespace dpledger::client::internal
