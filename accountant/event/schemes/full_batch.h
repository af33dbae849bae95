// Every record, in every round. Analysis: mechanism/resolve_rounds.cc.
#pragma once

#include "accountant/event/nature.h"

namespace dpledger::accountant {

struct FullBatch {
  static constexpr char kName[] = "full_batch";
  static constexpr auto Fields() { return std::tuple(); }
  absl::Status AddTo(Resolver& resolver, const GaussianRounds& rounds) const;
};

}  // namespace dpledger::accountant
