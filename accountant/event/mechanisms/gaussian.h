// Gaussian noise on a sum over all records. Analysis: mechanism/resolve_mechanisms.cc.
#pragma once

#include "accountant/event/nature.h"

namespace dpledger::accountant {

struct Gaussian {
  double noise_multiplier;  // > 0

  static constexpr char kName[] = "gaussian";
  static constexpr Nature kNature = Nature::kGaussian;
  static constexpr auto Fields() {
    return std::tuple(Field{"noise_multiplier", &Gaussian::noise_multiplier, rules::Positive});
  }
  absl::Status AddTo(Resolver& resolver, uint64_t count) const;
};

}  // namespace dpledger::accountant
