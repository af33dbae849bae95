// Draws samples of a fixed size without replacement: each set of `sample_size` records with the
// same probability. Takes memory for the sample, not for the population.
//
// Thread safety: thread-compatible.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "client/root_key.h"
#include "client/sampler.h"

namespace dpledger::client {

struct FixedSizeSamplerOptions {
  uint64_t population_size = 0;  // n, in [1, 2^53)
  uint64_t sample_size = 0;      // in [1, population_size], and at most 2^32
};

class FixedSizeSampler : public Sampler {
 public:
  // Draws a root key. INVALID_ARGUMENT names the field that is out of its domain.
  static absl::StatusOr<std::unique_ptr<FixedSizeSampler>> Create(
      const FixedSizeSamplerOptions& options);
  // Samples that anyone can predict: sampling then adds no privacy. The scheme does not tell; use
  // it in tests only.
  static absl::StatusOr<std::unique_ptr<FixedSizeSampler>> CreateNonPrivateForTesting(
      const FixedSizeSamplerOptions& options, uint64_t seed);

  const accountant::SamplingScheme& scheme() const override { return scheme_; }

 private:
  absl::StatusOr<std::vector<uint64_t>> DrawNext() override;
  FixedSizeSampler(const FixedSizeSamplerOptions& options, RootKey root);

  const FixedSizeSamplerOptions options_;
  const RootKey root_;
  accountant::SamplingScheme scheme_;
  uint64_t next_step_ = 0;
};

}  // namespace dpledger::client
