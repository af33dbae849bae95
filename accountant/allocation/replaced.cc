#include "accountant/allocation/replaced.h"

#include <algorithm>
#include <cmath>

#include "accountant/allocation/doubling.h"
#include "accountant/numeric/rounding.h"
#include "base/status.h"

namespace dpledger::accountant::allocation {
namespace {

// Relative rounding error of a sum of a few thousand positive terms and of its factors.
constexpr double kSumRounding = 1e-11;

Opposed RoundOf(const Rounds& rounds, double mu, double epsilon) {
  return {mu, epsilon, static_cast<double>(rounds.rounds - rounds.missing),
          static_cast<double>(rounds.missing)};
}

// The contribution of the rounds that were not run to the sum of the others.
struct Idle {
  double at;     // on the places' scale
  double error;  // absolute
};
Idle IdleOf(const Rounds& rounds, const Opposed& round) {
  const double at = static_cast<double>(rounds.missing) * round.Mean();
  const double exponents = round.epsilon + round.mu * round.mu + 16;
  return {at, 4 * exponents * kUnitRoundoff * std::fabs(at)};
}

// Scale()/t, within kSumRounding and the roundings of its exponent.
double FactorOf(const Rounds& rounds, const Opposed& round) {
  return round.Scale() / static_cast<double>(rounds.rounds);
}

}  // namespace

absl::StatusOr<ReplacedAbove> DeltaAbove(const Rounds& rounds, double epsilon, double mesh,
                                         double tail, const Limits& limits) {
  // A mean of fewer rounds shows more. (Those that were not run stay the same share, or fewer.)
  Rounds counted = rounds;
  const uint64_t run = rounds.rounds - rounds.missing;
  if (run > kMostRounds) counted = {kMostRounds, rounds.distance, 0};
  const Opposed round = RoundOf(counted, std::fmax(counted.distance, kLeastDistance), epsilon);
  Doubling<Opposed> doubling(Bound::kUpper, counted.rounds - counted.missing, round, mesh, tail);
  ASSIGN_OR_RETURN(const Atoms sum, doubling.Sum(limits));
  const Idle idle = IdleOf(counted, round);
  double plus = 0;
  for (size_t j = 0; j < sum.q.size(); ++j) {
    const double at = sum.place[j] + idle.at;
    plus += sum.q[j] * std::fmax(0, at + idle.error + 2 * kUnitRoundoff * std::fabs(at));
  }
  const double delta = (FactorOf(counted, round) * plus + doubling.p_cut()) *
                       ExpUp(1.01 * doubling.log_error()) * (1 + kSumRounding);
  return ReplacedAbove{std::fmin(1, delta), doubling.products()};
}

absl::StatusOr<ReplacedBelow> DeltaBelow(const Rounds& rounds, double epsilon, double mesh,
                                         double tail, const Limits& limits) {
  if (rounds.distance < kLeastDistance) return ReplacedBelow{0, 0, 0, 0};
  const Opposed round = RoundOf(rounds, rounds.distance, epsilon);
  Doubling<Opposed> doubling(Bound::kLower, rounds.rounds - rounds.missing, round, mesh, tail);
  ASSIGN_OR_RETURN(const Atoms sum, doubling.Sum(limits));
  const Idle idle = IdleOf(rounds, round);
  // The test says yes where the sum, with those that were not run, is positive.
  double plus = 0, other = 0;
  for (size_t j = 0; j < sum.q.size(); ++j) {
    const double at = sum.place[j] + idle.at;
    const double surely = at - idle.error - 2 * kUnitRoundoff * std::fabs(at);
    if (!(surely > 0)) continue;
    plus += sum.q[j] * surely;
    other += sum.q[j] * (sum.second[j] + static_cast<double>(rounds.missing));
  }
  // The test keeps of every outcome the share by which its mass was counted: at most all of it.
  const double kept = ExpDown(-1.01 * doubling.log_error() - kSumRounding);
  const double level = kept * other / static_cast<double>(rounds.rounds);
  const double error = 1.01 * doubling.second_error() + kSumRounding;
  ReplacedBelow below{kept * FactorOf(rounds, round) * plus, 0, 0, doubling.products()};
  below.level = std::fmin(1, level * (1 + error));
  below.power = below.delta + std::fmax(0, MulDown(ExpDown(epsilon), level * (1 - error)));
  return below;
}

}  // namespace dpledger::accountant::allocation
