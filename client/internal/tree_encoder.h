// Tree aggregation: step t sends the sum over each dyadic interval of steps that ends with it, the
// shortest first. At most one sum a level is kept of the past, that of the left half of an interval
// that is not complete yet.
//
// An interval's sum is estimated from its own message and from the estimates of its halves, by the
// weights of least variance (Honaker 2015, estimate from below): v_0 = 1, and v_l = 2^l / (2^(l+1)
// - 1) is both the weight of the own message and the variance in units of a message's.
#pragma once

#include <vector>

#include "client/internal/encoder.h"

namespace dpledger::client::internal {

class TreeEncoder : public Encoder {
 public:
  explicit TreeEncoder(size_t size) : size_(size) {}

  void Begin(uint64_t step) override;
  size_t Messages(uint64_t step) const override;
  void Encode(uint64_t step, size_t level, size_t begin, absl::Span<int64_t> sums,
              absl::Span<int64_t> message) override;
  void Decode(uint64_t step, size_t level, size_t begin, absl::Span<const int64_t> message,
              absl::Span<float> estimates) override;
  void Save(StateWriter& to) const override;
  void Restore(StateReader& from) override;

 private:
  size_t size_;
  // Of the left halves, by level. At the level of a step's last message there is none: there the
  // step's own are worked out.
  std::vector<SecretSums> left_sums_;
  std::vector<std::vector<double>> left_estimates_;
};

}  // namespace dpledger::client::internal
