// Shuffled epochs: each record in one batch of an epoch. Analysis: mechanism/resolve_epochs.cc.
#pragma once

#include <optional>

#include "accountant/event/nature.h"

namespace dpledger::accountant {

struct DisjointBatches {
  uint64_t batches_per_epoch;  // >= 1
  uint64_t epoch;              // from 0

  static constexpr char kName[] = "disjoint_batches";
  static constexpr auto Fields() {
    return std::tuple(Field{"batches_per_epoch", &DisjointBatches::batches_per_epoch, rules::Count},
                      Field{"epoch", &DisjointBatches::epoch, rules::Ordinal});
  }
  std::optional<Epoch> OfEpoch() const { return Epoch{batches_per_epoch, epoch}; }
  absl::Status AddTo(Resolver& resolver, const GaussianRounds& rounds) const;
};

}  // namespace dpledger::accountant
