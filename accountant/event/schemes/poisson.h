// Each record independently. Analysis: mechanism/resolve_rounds.cc.
#pragma once

#include "accountant/event/nature.h"

namespace dpledger::accountant {

struct PoissonSampling {
  double probability;  // in (0, 1]

  static constexpr char kName[] = "poisson";
  static constexpr auto Fields() {
    return std::tuple(
        Field{"probability", &PoissonSampling::probability, rules::SamplingProbability});
  }
  absl::Status AddTo(Resolver& resolver, const GaussianRounds& rounds) const;
};

}  // namespace dpledger::accountant
