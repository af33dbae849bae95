// Nothing. Analysis: mechanism/resolve_mechanisms.cc.
#pragma once

#include "accountant/event/nature.h"

namespace dpledger::accountant {

struct NoOp {
  static constexpr char kName[] = "no_op";
  static constexpr Nature kNature = Nature::kGaussian;
  static constexpr auto Fields() { return std::tuple(); }
  absl::Status AddTo(Resolver& resolver, uint64_t count) const;
};

}  // namespace dpledger::accountant
