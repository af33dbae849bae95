// The sums over all dyadic intervals of trees whose leaves hold one record each. Records have
// positions, and a sample changes them.
// Analysis: mechanism/resolve_mechanisms.cc.
#pragma once

#include <vector>

#include "accountant/event/nature.h"

namespace dpledger::accountant {

struct SingleEpochTreeAggregation {
  double noise_multiplier;            // > 0
  std::vector<uint64_t> step_counts;  // leaves of each tree, >= 1; at least one

  static constexpr char kName[] = "single_epoch_tree_aggregation";
  static constexpr Nature kNature = Nature::kOther;
  static constexpr auto Fields() {
    return std::tuple(
        Field{"noise_multiplier", &SingleEpochTreeAggregation::noise_multiplier, rules::Positive},
        Field{"step_counts", &SingleEpochTreeAggregation::step_counts, Each(rules::Count)});
  }
  absl::Status AddTo(Resolver& resolver, uint64_t count) const;
};

}  // namespace dpledger::accountant
