// A sample of stated size, each such sample equally likely. Analysis: mechanism/resolve_rounds.cc.
#pragma once

#include "accountant/event/nature.h"

namespace dpledger::accountant {

struct WithoutReplacement {
  uint64_t sample_size;  // in [1, population], which must be stated

  static constexpr char kName[] = "without_replacement";
  static constexpr bool kNeedsPopulation = true;
  static constexpr auto Fields() {
    return std::tuple(Field{"sample_size", &WithoutReplacement::sample_size, kAny});
  }
  absl::Status CheckFrom(uint64_t population) const {
    return rules::WholeIn(1, population, "sample_size", sample_size);
  }
  absl::Status AddTo(Resolver& resolver, const GaussianRounds& rounds) const;
};

struct WithReplacement {
  uint64_t sample_size;  // in [1, population], which must be stated

  static constexpr char kName[] = "with_replacement";
  static constexpr bool kNeedsPopulation = true;
  static constexpr auto Fields() {
    return std::tuple(Field{"sample_size", &WithReplacement::sample_size, kAny});
  }
  absl::Status CheckFrom(uint64_t population) const {
    return rules::WholeIn(1, population, "sample_size", sample_size);
  }
  absl::Status AddTo(Resolver& resolver, const GaussianRounds& rounds) const;
};

}  // namespace dpledger::accountant
