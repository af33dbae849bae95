#include "accountant/mechanism/composition.h"

#include <utility>

#include "accountant/limits.h"
#include "accountant/mechanism/resolver.h"
#include "base/status.h"

namespace dpledger::accountant {

double Composition::TotalCount() const {
  double total = 0;
  const auto add = [&total](const auto& list) {
    for (const auto& step : list) total += static_cast<double>(step.count);
  };
  add(steps);
  add(pairs);
  add(allocations);
  add(curves);
  return total;
}

absl::StatusOr<Composition> Resolve(const History& history, const Neighbours& neighbours) {
  RETURN_IF_ERROR(CheckArithmetic());
  Resolver resolver(neighbours);
  const std::vector<History::CountedRound> rounds = history.Rounds();
  for (const History::CountedRound& counted : rounds) RETURN_IF_ERROR(CheckRound(counted.round));
  RETURN_IF_ERROR(resolver.AddRounds(rounds));
  for (const Mechanism& mechanism : history.Mechanisms()) {
    RETURN_IF_ERROR(CheckMechanism(mechanism));
    RETURN_IF_ERROR(resolver.AddMechanism(mechanism, 1));
  }
  return std::move(resolver).Finish();
}

}  // namespace dpledger::accountant
