// Selection by permute-and-flip (McKenna, Sheldon 2020). Analysis: mechanism/resolve_mechanisms.cc.
#pragma once

#include "accountant/event/nature.h"

namespace dpledger::accountant {

struct PermuteAndFlip {
  double epsilon;  // >= 0

  static constexpr char kName[] = "permute_and_flip";
  static constexpr Nature kNature = Nature::kOther;
  static constexpr auto Fields() {
    return std::tuple(Field{"epsilon", &PermuteAndFlip::epsilon, rules::NonNegative});
  }
  absl::Status AddTo(Resolver& resolver, uint64_t count) const;
};

}  // namespace dpledger::accountant
