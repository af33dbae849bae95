// Noise P(k) ∝ e^{-a|k|} on a whole number. Analysis: mechanism/resolve_mechanisms.cc.
#pragma once

#include "accountant/event/nature.h"

namespace dpledger::accountant {

struct DiscreteLaplace {
  double noise_parameter;  // a, > 0
  uint64_t sensitivity;    // >= 1

  static constexpr char kName[] = "discrete_laplace";
  static constexpr Nature kNature = Nature::kNoiseOnASum;
  static constexpr auto Fields() {
    return std::tuple(Field{"noise_parameter", &DiscreteLaplace::noise_parameter, rules::Positive},
                      Field{"sensitivity", &DiscreteLaplace::sensitivity, rules::Count});
  }
  absl::Status AddTo(Resolver& resolver, uint64_t count) const;
};

}  // namespace dpledger::accountant
