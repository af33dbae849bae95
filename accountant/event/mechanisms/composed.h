// Several mechanisms. Analysis: mechanism/resolver.cc.
#pragma once

#include <vector>

#include "accountant/event/nature.h"

namespace dpledger::accountant {

struct Composed {
  std::vector<Mechanism> events;  // at least one, at most 4096

  static constexpr char kName[] = "composed";
  static constexpr Nature kNature = Nature::kGaussian;
  static constexpr auto Fields() {
    return std::tuple(
        Field{"events", &Composed::events, [](std::string_view field, const auto& parts) {
                return rules::WholeIn(1, 4096, field, parts.size());
              }});
  }
  absl::Status AddTo(Resolver& resolver, uint64_t count) const;
};

}  // namespace dpledger::accountant
