#include "accountant/allocation/ratio_law.h"

#include <algorithm>
#include <utility>

#include "accountant/allocation/doubling.h"
#include "accountant/numeric/rounding.h"
#include "base/status.h"

namespace dpledger::accountant::allocation {
namespace {

// Relative rounding error of sums of cut masses.
constexpr double kCutRounding = 1e-10;

// The law of the mean of the rounds.
absl::StatusOr<RatioLaw> Mean(Bound bound, uint64_t rounds, double mu, double mesh, double tail,
                              const Limits& limits) {
  Doubling<Ratio> doubling(bound, rounds, {mu, static_cast<double>(rounds)}, mesh, tail);
  ASSIGN_OR_RETURN(Atoms sum, doubling.Sum(limits));
  RatioLaw law;
  law.products = doubling.products();
  if (sum.q.empty()) return law;
  const double t = static_cast<double>(rounds);
  // e^{log_error} outward, of products of at most t masses.
  const double off = 1.01 * doubling.log_error();
  const double factor = bound == Bound::kUpper ? ExpUp(off) : ExpDown(-off);
  law.ratio = std::move(sum.place);
  for (double& r : law.ratio) r /= t;
  law.q = std::move(sum.q);
  for (double& q : law.q) q *= factor;
  law.loss_error = 1.01 * (doubling.loss_error() + 4 * kUnitRoundoff);
  if (bound == Bound::kUpper) {
    law.q_cut = doubling.q_cut() * factor * (1 + kCutRounding);
    law.p_cut = doubling.p_cut() * factor * (1 + kCutRounding);
  }
  return law;
}

absl::StatusOr<RatioLaw> Law(Bound bound, const Rounds& rounds, double mesh, double tail,
                             const Limits& limits) {
  const uint64_t run = rounds.rounds - rounds.missing;
  const uint64_t counted = bound == Bound::kUpper ? std::min(run, kMostRounds) : run;
  double mu = rounds.distance;
  if (mu < kLeastDistance) {
    if (bound == Bound::kLower) return RatioLaw{{1}, {1}, 0, 0, 0};
    mu = kLeastDistance;
  }
  ASSIGN_OR_RETURN(RatioLaw law, Mean(bound, counted, mu, mesh, tail, limits));
  if (rounds.missing == 0) return law;
  const double part = static_cast<double>(run) / static_cast<double>(rounds.rounds);
  const double rest = static_cast<double>(rounds.missing) / static_cast<double>(rounds.rounds);
  for (double& r : law.ratio) r = rest + part * r;
  law.loss_error += 4 * kUnitRoundoff;
  // If the record is in a round that was not run, the part cut has its Q-mass: p_cut has that too.
  return law;
}

}  // namespace

absl::StatusOr<RatioLaw> UpperLaw(const Rounds& rounds, double mesh, double tail,
                                  const Limits& limits) {
  return Law(Bound::kUpper, rounds, mesh, tail, limits);
}

absl::StatusOr<RatioLaw> LowerLaw(const Rounds& rounds, double mesh, double tail,
                                  const Limits& limits) {
  return Law(Bound::kLower, rounds, mesh, tail, limits);
}

}  // namespace dpledger::accountant::allocation
