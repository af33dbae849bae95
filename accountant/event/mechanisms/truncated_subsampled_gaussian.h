// A Gaussian mechanism on a Poisson sample cut to a greatest size. Analysis:
// mechanism/resolve_mechanisms.cc.
#pragma once

#include "accountant/event/nature.h"

namespace dpledger::accountant {

struct TruncatedSubsampledGaussian {
  uint64_t dataset_size;          // >= 1
  double sampling_probability;    // in (0, 1]
  uint64_t truncated_batch_size;  // >= 1
  double noise_multiplier;        // > 0

  static constexpr char kName[] = "truncated_subsampled_gaussian";
  static constexpr Nature kNature = Nature::kOfAPopulation;
  static constexpr auto Fields() {
    return std::tuple(
        Field{"dataset_size", &TruncatedSubsampledGaussian::dataset_size, rules::Count},
        Field{"sampling_probability", &TruncatedSubsampledGaussian::sampling_probability,
              rules::SamplingProbability},
        Field{"truncated_batch_size", &TruncatedSubsampledGaussian::truncated_batch_size,
              rules::Count},
        Field{"noise_multiplier", &TruncatedSubsampledGaussian::noise_multiplier, rules::Positive});
  }
  absl::Status AddTo(Resolver& resolver, uint64_t count) const;
};

}  // namespace dpledger::accountant
