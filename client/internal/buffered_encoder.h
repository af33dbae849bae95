// Buffered linear Toeplitz (BLT): step t sends S_t and a weighted sum of a few buffers, each a
// decaying sum of the steps before. Coefficients of a whole run at the memory of a few vectors.
//
// The buffers are integers and rounded (client/internal/buffer_plan.h), by a known bound that is
// charged: this encoder is linear but for that.
#pragma once

#include <vector>

#include "client/internal/buffer_plan.h"
#include "client/internal/encoder.h"

namespace dpledger::client::internal {

class BufferedEncoder : public Encoder {
 public:
  // Messages are in units of 2^-message_bits of a sum, for message_bits <= 10.
  BufferedEncoder(BufferPlan plan, int message_bits, size_t size);

  size_t Messages(uint64_t) const override { return 1; }
  void Encode(uint64_t, size_t, size_t begin, absl::Span<int64_t> sums,
              absl::Span<int64_t> message) override;
  void Decode(uint64_t, size_t, size_t begin, absl::Span<const int64_t> message,
              absl::Span<float> estimates) override;
  void Save(StateWriter& to) const override;
  void Restore(StateReader& from) override;

 private:
  const BufferPlan plan_;
  const int message_bits_;
  // One for each buffer: of the sums, and of their estimates.
  std::vector<SecretSums> sum_buffers_;
  std::vector<std::vector<double>> estimate_buffers_;
};

}  // namespace dpledger::client::internal
