// Each record independently, the sample cut to a greatest size. Analysis:
// mechanism/resolve_rounds.cc.
#pragma once

#include "accountant/event/nature.h"

namespace dpledger::accountant {

struct TruncatedPoisson {
  double probability;        // in (0, 1]
  uint64_t max_sample_size;  // >= 1; the population must be stated

  static constexpr char kName[] = "truncated_poisson";
  static constexpr bool kNeedsPopulation = true;
  static constexpr auto Fields() {
    return std::tuple(
        Field{"probability", &TruncatedPoisson::probability, rules::SamplingProbability},
        Field{"max_sample_size", &TruncatedPoisson::max_sample_size, rules::Count});
  }
  absl::Status AddTo(Resolver& resolver, const GaussianRounds& rounds) const;
};

}  // namespace dpledger::accountant
