// Any mechanism of which a loss is stated. Analysis: mechanism/resolve_mechanisms.cc.
#pragma once

#include "accountant/event/nature.h"

namespace dpledger::accountant {

struct EpsilonDelta {
  double epsilon;  // >= 0
  double delta;    // in [0, 1]

  static constexpr char kName[] = "epsilon_delta";
  static constexpr Nature kNature = Nature::kOther;
  static constexpr auto Fields() {
    return std::tuple(Field{"epsilon", &EpsilonDelta::epsilon, rules::NonNegative},
                      Field{"delta", &EpsilonDelta::delta, rules::Probability});
  }
  absl::Status AddTo(Resolver& resolver, uint64_t count) const;
};

}  // namespace dpledger::accountant
