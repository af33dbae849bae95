// Any mechanism of which (ξ, ρ)-zCDP is stated. Analysis: mechanism/resolve_mechanisms.cc.
#pragma once

#include "accountant/event/nature.h"

namespace dpledger::accountant {

struct ZCDp {
  double rho;  // >= 0
  double xi;   // >= 0

  static constexpr char kName[] = "zcdp";
  static constexpr Nature kNature = Nature::kOther;
  static constexpr auto Fields() {
    return std::tuple(Field{"rho", &ZCDp::rho, rules::NonNegative},
                      Field{"xi", &ZCDp::xi, rules::NonNegative});
  }
  absl::Status AddTo(Resolver& resolver, uint64_t count) const;
};

}  // namespace dpledger::accountant
