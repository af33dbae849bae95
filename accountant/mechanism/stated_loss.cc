#include "accountant/mechanism/stated_loss.h"

#include <cmath>

#include "accountant/mechanism/greatest_loss.h"
#include "accountant/numeric/constants.h"
#include "accountant/numeric/rounding.h"

namespace dpledger::accountant {
namespace {

// Of the few roundings, expm1, log1p and exp of a closed form, each within two units.
constexpr double kError = 16 * kUnitRoundoff;

Interval Around(double value) {
  return {std::fmax(0, NextDown(value * (1 - kError))), NextUp(value * (1 + kError))};
}

}  // namespace

std::optional<EpsilonDelta> StatedAlone(const Composition& composition) {
  const bool alone = composition.steps.empty() && composition.allocations.empty() &&
                     composition.curves.empty() && composition.pairs.size() == 1;
  if (!alone || composition.non_private || composition.pairs[0].count != 1) return std::nullopt;
  return composition.pairs[0].stated;
}

// δ(ε) = δ0 + (1 - δ0)(1 - e^{ε-ε0})/(1 + e^{-ε0}) below ε0, solved for ε. The difference of the
// two δ is exact where they are near each other, and else known to one rounding.
Interval EpsilonOfStated(const EpsilonDelta& stated, double delta) {
  if (delta < stated.delta) return {kInfinity, kInfinity};
  if (delta == stated.delta) return {stated.epsilon, stated.epsilon};
  const double share =
      (delta - stated.delta) * (1 + std::exp(-stated.epsilon)) / (1 - stated.delta);
  const auto at = [&](double x) { return x < 1 ? stated.epsilon + std::log1p(-x) : -kInfinity; };
  const Interval of_share = Around(share);
  const double below = at(of_share.upper()), above = at(of_share.lower());
  // The sum cancels at worst to a number of about ε0's last digit.
  const double error = kError * (stated.epsilon + 1);
  return {std::fmax(0, below - error), std::fmin(stated.epsilon, std::fmax(0, above + error))};
}

Interval DeltaOfStated(const EpsilonDelta& stated, double epsilon) {
  if (epsilon >= stated.epsilon) return {stated.delta, stated.delta};
  const Interval more = Around((1 - stated.delta) * -std::expm1(epsilon - stated.epsilon) /
                               (1 + std::exp(-stated.epsilon)));
  return {AddDown(stated.delta, more.lower()), std::fmin(1, AddUp(stated.delta, more.upper()))};
}

double LossBesideStated(const Composition& composition, std::optional<Direction> direction,
                        double delta) {
  Composition others = composition;
  double above = 0;             // of what is stated, its ε together
  double kept = 1;              // 1 - the mass that is given away, rounded down
  std::optional<double> given;  // that mass itself, while it is that of one run
  size_t stated = 0;
  for (PairStep& step : others.pairs) {
    if (!step.stated) continue;
    const double count = NextUp(static_cast<double>(step.count));
    above = AddUp(above, MulUp(step.stated->epsilon, count));
    // (1 - δ)^n >= e^{n log1p(-δ)}
    const double loss = NextUp(-NextDown(std::log1p(-step.stated->delta)));
    kept = std::fmax(0, MulDown(kept, ExpDown(-MulUp(count, loss))));
    given = ++stated == 1 && step.count == 1 ? std::optional(step.stated->delta) : std::nullopt;
    step.upper = step.lower = Pair::Nothing();
  }
  if (stated == 0 || given.value_or(NextUp(1 - kept)) > delta) return kInfinity;
  return AddUp(above, GreatestLoss(others, direction).upper());
}

}  // namespace dpledger::accountant
