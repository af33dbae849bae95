// Banded Toeplitz: step t sends a_0 S_t + ... + a_{b-1} S_{t-b+1}, for integers a; the sums of b -
// 1 steps are kept, and as many estimates g_t = (Y_t - a_1 g_{t-1} - ... - a_{b-1} g_{t-b+1}) / a_0
// of them, from the messages Y.
//
// What is kept lies in blocks of kHistoryBlock coordinates, which a step reads from the first to
// the last byte (client/internal/band_kernels.h).
#pragma once

#include <vector>

#include "client/internal/encoder.h"

namespace dpledger::client::internal {

class BandedEncoder : public Encoder {
 public:
  // a_0 is a power of two, all are at most 2^20.
  BandedEncoder(std::vector<uint32_t> coefficients, size_t size);

  size_t Messages(uint64_t) const override { return 1; }
  void Encode(uint64_t step, size_t, size_t begin, absl::Span<int64_t> sums,
              absl::Span<int64_t> message) override;
  void Decode(uint64_t step, size_t, size_t begin, absl::Span<const int64_t> message,
              absl::Span<float> estimates) override;
  void Save(StateWriter& to) const override;
  void Restore(StateReader& from) override;

 private:
  const std::vector<uint32_t> coefficients_;
  SecretSums past_sums_;
  std::vector<float> past_estimates_;
};

}  // namespace dpledger::client::internal
