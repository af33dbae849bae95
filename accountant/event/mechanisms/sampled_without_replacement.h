// A mechanism on a sample of stated size, each such sample equally likely. Analysis:
// mechanism/resolver.cc.
#pragma once

#include <vector>

#include "accountant/event/nature.h"

namespace dpledger::accountant {

struct SampledWithoutReplacement {
  uint64_t source_dataset_size;  // >= 1
  uint64_t sample_size;          // in [1, source_dataset_size]
  std::vector<Mechanism> event;  // one

  static constexpr char kName[] = "sampled_without_replacement";
  static constexpr Nature kNature = Nature::kOfAPopulation;
  static constexpr auto Fields() {
    return std::tuple(
        Field{"source_dataset_size", &SampledWithoutReplacement::source_dataset_size, rules::Count},
        Field{"sample_size", &SampledWithoutReplacement::sample_size,
              [](std::string_view field, uint64_t value, const SampledWithoutReplacement& m) {
                return rules::WholeIn(1, m.source_dataset_size, field, value);
              }},
        Field{"event", &SampledWithoutReplacement::event, kOne, Mark::kOne});
  }
  absl::Status AddTo(Resolver& resolver, uint64_t count) const;
};

}  // namespace dpledger::accountant
