// Gaussian noise on a sum to which one record adds a random amount. Analysis:
// mechanism/resolve_mechanisms.cc.
#pragma once

#include <cmath>
#include <vector>

#include "accountant/event/nature.h"

namespace dpledger::accountant {

struct MixtureOfGaussians {
  double standard_deviation;           // > 0
  std::vector<double> sensitivities;   // >= 0; at least one
  std::vector<double> sampling_probs;  // as many, summing to 1 within 1e-12

  static constexpr char kName[] = "mixture_of_gaussians";
  static constexpr Nature kNature = Nature::kNoiseOnASum;
  static constexpr auto Fields() {
    return std::tuple(
        Field{"standard_deviation", &MixtureOfGaussians::standard_deviation, rules::Positive},
        Field{"sensitivities", &MixtureOfGaussians::sensitivities, Each(rules::NonNegative)},
        Field{"sampling_probs", &MixtureOfGaussians::sampling_probs, Each(rules::Probability)});
  }
  absl::Status Check() const {
    RETURN_IF_ERROR(rules::AsMany("sampling_probs", sampling_probs.size(), "sensitivities",
                                  sensitivities.size()));
    double sum = 0;
    for (const double probability : sampling_probs) sum += probability;
    return rules::Must(std::abs(sum - 1) <= 1e-12, "sum to 1 within 1e-12", "sampling_probs", sum);
  }
  absl::Status AddTo(Resolver& resolver, uint64_t count) const;
};

}  // namespace dpledger::accountant
