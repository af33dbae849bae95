// Each record in uniformly chosen rounds of an epoch. Analysis: mechanism/resolve_epochs.cc.
#pragma once

#include <optional>

#include "accountant/event/nature.h"

namespace dpledger::accountant {

struct RandomAllocation {
  uint64_t rounds_per_epoch;   // >= 1
  uint64_t epoch;              // from 0
  uint64_t contributions = 1;  // rounds of an epoch that a record is in: in [1, rounds_per_epoch]
  bool fixed_bins = false;     // drawn once for all epochs of a writer

  static constexpr char kName[] = "random_allocation";
  static constexpr auto Fields() {
    return std::tuple(Field{"rounds_per_epoch", &RandomAllocation::rounds_per_epoch, rules::Count},
                      Field{"epoch", &RandomAllocation::epoch, rules::Ordinal},
                      Field{"contributions", &RandomAllocation::contributions,
                            [](std::string_view field, uint64_t value, const RandomAllocation& m) {
                              return rules::WholeIn(1, m.rounds_per_epoch, field, value);
                            }},
                      Field{"fixed_bins", &RandomAllocation::fixed_bins, kAny});
  }
  std::optional<Epoch> OfEpoch() const { return Epoch{rounds_per_epoch, epoch}; }
  absl::Status AddTo(Resolver& resolver, const GaussianRounds& rounds) const;
};

}  // namespace dpledger::accountant
