// Selection by the exponential mechanism. Analysis: mechanism/resolve_mechanisms.cc.
#pragma once

#include "accountant/event/nature.h"

namespace dpledger::accountant {

struct ExponentialMechanism {
  double epsilon;  // >= 0

  static constexpr char kName[] = "exponential_mechanism";
  static constexpr Nature kNature = Nature::kOther;
  static constexpr auto Fields() {
    return std::tuple(Field{"epsilon", &ExponentialMechanism::epsilon, rules::NonNegative});
  }
  absl::Status AddTo(Resolver& resolver, uint64_t count) const;
};

}  // namespace dpledger::accountant
