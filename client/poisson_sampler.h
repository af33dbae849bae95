// Draws Poisson samples: each record of a population independently with probability q, exactly.
//
// 1. q is the double itself, a dyadic number: P(included) is q and not something near it. The
//    scheme handed out names that very double.
// 2. The sample comes from geometric skips floor(ln U / ln(1 - q)) over infinite bit strings U,
//    decided as client/rounded_gaussian.h does; so it depends on the key alone, not on what it was
//    computed with (docs/formats.md, section 3.5).
//
// Thread safety: thread-compatible.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "client/internal/noise_kernels.h"
#include "client/root_key.h"
#include "client/sampler.h"

namespace dpledger::client {

struct PoissonSamplerOptions {
  uint64_t population_size = 0;  // n, in [1, 2^53)
  double probability = 0;        // q, in (0, 1]
};

class PoissonSampler : public Sampler {
 public:
  // INVALID_ARGUMENT names the field that is out of its domain; errors of `root`.
  static absl::StatusOr<std::unique_ptr<PoissonSampler>> Create(
      const PoissonSamplerOptions& options, absl::StatusOr<RootKey> root = RootKey::FromKernel());

 private:
  absl::StatusOr<std::vector<uint64_t>> DrawNext() override;
  PoissonSampler(const PoissonSamplerOptions& options, RootKey root);

  const PoissonSamplerOptions options_;
  const RootKey root_;
  uint64_t next_step_ = 0;
};

namespace internal {

// Each of `population_size` < 2^53 records with probability q in (0, 1], ascending
// (docs/formats.md, section 3.5).
std::vector<uint64_t> SamplePoisson(KeyStream key, uint64_t population_size, double q);

// Records in a block; blocks are drawn independently of each other.
constexpr uint64_t kSamplingBlock = kSkipLimit;

// Failures before the first success of independent trials with success probability q, exactly; cut
// to `limit` (<= kSamplingBlock). q in (0, 1).
class GeometricSkip {
 public:
  explicit GeometricSkip(double q);

  // What the first words alone decide, many at once (client/internal/noise_kernels.h).
  bool Many(absl::Span<const uint64_t> words, uint64_t* skips) const {
    return GeometricSkips(words.data(), words.size(), rate_, skips);
  }
  // As MPFR decides it; bits(level) gives word `level` of U.
  uint64_t Exact(uint64_t limit, absl::FunctionRef<uint64_t(uint64_t level)> bits) const;

 private:
  double q_;
  double rate_;  // -ln(1 - q)
};

}  // namespace internal
}  // namespace dpledger::client
