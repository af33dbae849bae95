// A private mechanism without an analysis: every question about it is refused. Analysis:
// mechanism/resolve_mechanisms.cc.
#pragma once

#include <string>

#include "accountant/event/nature.h"

namespace dpledger::accountant {

struct Unsupported {
  std::string description;  // at most 1024 bytes

  static constexpr char kName[] = "unsupported";
  static constexpr Nature kNature = Nature::kOther;
  static constexpr auto Fields() {
    return std::tuple(Field{"description", &Unsupported::description, TextUpTo(1024)});
  }
  absl::Status AddTo(Resolver& resolver, uint64_t count) const;
};

}  // namespace dpledger::accountant
