// Laplace noise on a sum. Analysis: mechanism/resolve_mechanisms.cc.
#pragma once

#include "accountant/event/nature.h"

namespace dpledger::accountant {

struct Laplace {
  double noise_multiplier;  // scale over L1 sensitivity, > 0

  static constexpr char kName[] = "laplace";
  static constexpr Nature kNature = Nature::kNoiseOnASum;
  static constexpr auto Fields() {
    return std::tuple(Field{"noise_multiplier", &Laplace::noise_multiplier, rules::Positive});
  }
  absl::Status AddTo(Resolver& resolver, uint64_t count) const;
};

}  // namespace dpledger::accountant
