// One mechanism, several times. Analysis: mechanism/resolver.cc.
#pragma once

#include <vector>

#include "accountant/event/nature.h"

namespace dpledger::accountant {

struct SelfComposed {
  std::vector<Mechanism> event;  // one
  uint64_t count;                // >= 1

  static constexpr char kName[] = "self_composed";
  static constexpr Nature kNature = Nature::kGaussian;
  static constexpr auto Fields() {
    return std::tuple(Field{"event", &SelfComposed::event, kOne, Mark::kOne},
                      Field{"count", &SelfComposed::count, rules::Count});
  }
  absl::Status AddTo(Resolver& resolver, uint64_t count) const;
};

}  // namespace dpledger::accountant
