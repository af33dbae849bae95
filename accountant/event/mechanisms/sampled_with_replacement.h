// A mechanism on a sample of independent draws. Analysis: mechanism/resolver.cc.
#pragma once

#include <vector>

#include "accountant/event/nature.h"

namespace dpledger::accountant {

struct SampledWithReplacement {
  uint64_t source_dataset_size;  // >= 1
  uint64_t sample_size;          // >= 1
  std::vector<Mechanism> event;  // one

  static constexpr char kName[] = "sampled_with_replacement";
  static constexpr Nature kNature = Nature::kOfAPopulation;
  static constexpr auto Fields() {
    return std::tuple(
        Field{"source_dataset_size", &SampledWithReplacement::source_dataset_size, rules::Count},
        Field{"sample_size", &SampledWithReplacement::sample_size, rules::Count},
        Field{"event", &SampledWithReplacement::event, kOne, Mark::kOne});
  }
  absl::Status AddTo(Resolver& resolver, uint64_t count) const;
};

}  // namespace dpledger::accountant
