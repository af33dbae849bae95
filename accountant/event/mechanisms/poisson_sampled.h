// A mechanism on a Poisson sample. Analysis: mechanism/resolver.cc.
#pragma once

#include <vector>

#include "accountant/event/nature.h"

namespace dpledger::accountant {

struct PoissonSampled {
  double sampling_probability;   // in (0, 1]
  std::vector<Mechanism> event;  // one

  static constexpr char kName[] = "poisson_sampled";
  static constexpr Nature kNature = Nature::kSampledGaussian;
  static constexpr auto Fields() {
    return std::tuple(Field{"sampling_probability", &PoissonSampled::sampling_probability,
                            rules::SamplingProbability},
                      Field{"event", &PoissonSampled::event, kOne, Mark::kOne});
  }
  absl::Status AddTo(Resolver& resolver, uint64_t count) const;
};

}  // namespace dpledger::accountant
