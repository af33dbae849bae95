// Releases the data: its ε is infinite. Analysis: mechanism/resolve_mechanisms.cc.
#pragma once

#include "accountant/event/nature.h"

namespace dpledger::accountant {

struct NonPrivate {
  static constexpr char kName[] = "non_private";
  static constexpr Nature kNature = Nature::kOther;
  static constexpr auto Fields() { return std::tuple(); }
  absl::Status AddTo(Resolver& resolver, uint64_t count) const;
};

}  // namespace dpledger::accountant
