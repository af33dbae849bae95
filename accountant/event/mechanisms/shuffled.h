// Reports of many people, without who sent which. Analysis: mechanism/resolve_mechanisms.cc,
// pair/shuffled.h.
#pragma once

#include "accountant/event/nature.h"

namespace dpledger::accountant {

struct Shuffled {
  double local_epsilon;  // ε of the randomizer of one report, >= 0
  uint64_t people;       // at least so many, >= 1

  static constexpr char kName[] = "shuffled";
  static constexpr Nature kNature = Nature::kOfAPopulation;
  static constexpr auto Fields() {
    return std::tuple(Field{"local_epsilon", &Shuffled::local_epsilon, rules::NonNegative},
                      Field{"people", &Shuffled::people, rules::Count});
  }
  absl::Status AddTo(Resolver& resolver, uint64_t count) const;
};

}  // namespace dpledger::accountant
