#include "accountant/contour/contour.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "accountant/contour/cut_steps.h"
#include "accountant/contour/ladder.h"
#include "accountant/contour/laid_line.h"
#include "accountant/contour/line.h"
#include "accountant/contour/pair_loss.h"
#include "accountant/contour/saddle.h"
#include "accountant/contour/steps_of.h"
#include "accountant/mechanism/greatest_loss.h"
#include "accountant/numeric/rounding.h"
#include "base/status.h"

namespace dpledger::accountant::contour {
namespace {

constexpr double kLeastLogDelta = -800;

// `order` as for EpsilonOnLine.
Found EpsilonOf(const std::vector<Step>& steps, double delta, const Limits& limits, double& order) {
  Tilting tilting(steps, limits);
  return EpsilonOnLine(tilting, delta, order);
}

// Lines of a question about one ε, or about many: the share of δ that each error may cost, and the
// work that a line may take.
struct Lines {
  double share, work;
};
constexpr Lines kOne{Line::kShare, Line::kGreatestWork}, kMany{1e-8, 1e7};
// A line serves as far as it keeps this gap, or twice the gap it has where it was laid.
constexpr double kSharedGap = 1e-5;

// A line through the saddle of δ(epsilon); nothing if none is within reach.
absl::StatusOr<std::optional<Line>> LineAt(Tilting& tilting, double epsilon, double order,
                                           const Lines& lines) {
  // δ would be below the least double.
  if (tilting.At(1).log_mgf - epsilon < kLeastLogDelta) return std::nullopt;
  const Saddle saddle = tilting.ForEpsilon(epsilon, order);
  RETURN_IF_ERROR(tilting.stopped());
  if (!(saddle.log_mgf - saddle.c * epsilon > kLeastLogDelta)) return std::nullopt;
  return Line::Through(tilting, saddle, epsilon, lines.share, lines.work);
}

Interval DeltaOn(Line& line, double epsilon) {
  const Line::LogDelta bounds = line.LogDeltaAt(epsilon);
  return {ExpDown(bounds.lower), std::fmin(1, ExpUp(bounds.upper))};
}

bool Useful(const Interval& delta) {
  return delta.lower() > 0 && delta.RelativeGap() <= kUsefulGap;
}

// At each of `epsilons`, ascending, up to the first at which no line closes: none does further out.
absl::StatusOr<std::vector<std::optional<Interval>>> DeltasOf(const std::vector<Step>& steps,
                                                              const std::vector<double>& epsilons,
                                                              const Lines& lines,
                                                              const Limits& limits) {
  Tilting tilting(steps, limits);
  std::optional<Line> line;
  double order = 1, shared_gap = kSharedGap;
  std::vector<std::optional<Interval>> result(epsilons.size());
  for (size_t i = 0; i < epsilons.size(); ++i) {
    Interval delta{0, 1};
    if (line.has_value()) delta = DeltaOn(*line, epsilons[i]);
    if (!(delta.lower() > 0 && delta.RelativeGap() <= shared_gap)) {
      ASSIGN_OR_RETURN(line, LineAt(tilting, epsilons[i], order, lines));
      if (!line.has_value()) break;
      delta = DeltaOn(*line, epsilons[i]);
      order = line->c();
      shared_gap = std::fmax(kSharedGap, 2 * delta.RelativeGap());
    }
    if (!Useful(delta)) break;
    result[i] = delta;
  }
  return result;
}

// An upper bound from the one end of μ, a lower from the other.
template <typename Question>
Found Both(const Widths& widths, const Question& question) {
  ASSIGN_OR_RETURN(const std::optional<Interval> upper, question(widths.upper));
  if (!upper.has_value() || widths.narrow) return upper;
  ASSIGN_OR_RETURN(const std::optional<Interval> lower, question(widths.lower));
  if (!lower.has_value()) return std::nullopt;
  return Interval{lower->lower(), upper->upper()};
}

// δ less the mass of infinite losses.
Interval Finite(double delta, const std::vector<Step>& steps) {
  const Interval infinite = InfiniteMass(steps);
  if (infinite.upper() == 0) return {delta, delta};
  return {AddDown(delta, -infinite.upper()), AddUp(delta, -infinite.lower())};
}

// EpsilonOf and DeltaOf for steps that may have infinite losses.
Found EpsilonWithInfinite(const std::vector<Step>& steps, double delta, const Limits& limits,
                          double& order) {
  const Interval left = Finite(delta, steps);
  if (!(left.lower() > 0)) return std::nullopt;
  ASSIGN_OR_RETURN(const std::optional<Interval> least,
                   EpsilonOf(steps, left.upper(), limits, order));
  if (left.lower() == left.upper() || !least.has_value()) return least;
  ASSIGN_OR_RETURN(const std::optional<Interval> most,
                   EpsilonOf(steps, left.lower(), limits, order));
  if (!most.has_value()) return std::nullopt;
  return Interval{least->lower(), most->upper()};
}
absl::StatusOr<std::vector<std::optional<Interval>>> DeltasWithInfinite(
    const std::vector<Step>& steps, const std::vector<double>& epsilons, const Lines& lines,
    const Limits& limits) {
  ASSIGN_OR_RETURN(std::vector<std::optional<Interval>> found,
                   DeltasOf(steps, epsilons, lines, limits));
  const Interval infinite = InfiniteMass(steps);
  if (infinite.upper() == 0) return found;
  for (std::optional<Interval>& delta : found) {
    if (!delta.has_value()) continue;
    delta = Interval{AddDown(delta->lower(), infinite.lower()),
                     std::fmin(1, AddUp(delta->upper(), infinite.upper()))};
  }
  return found;
}

Found DeltaOf(const std::vector<Step>& steps, double epsilon, const Limits& limits) {
  ASSIGN_OR_RETURN(const std::vector<std::optional<Interval>> found,
                   DeltasWithInfinite(steps, {epsilon}, kOne, limits));
  return found[0];
}

// The relative gap above which a line is not taken as it is: by jumps it may be narrower.
constexpr double kGapOfOneLine = 1e-6;

// The intersection of both, if there are two.
std::optional<Interval> Narrower(const std::optional<Interval>& on_one_line,
                                 const std::optional<Interval>& by_jumps) {
  if (!by_jumps.has_value()) return on_one_line;
  if (!on_one_line.has_value()) return by_jumps;
  return Meet(*on_one_line, "contour", *by_jumps, "contour by jumps");
}

// Whether one line is answer enough: its interval is narrow, or as wide as that of μ makes it.
bool IsEnough(const std::optional<Interval>& on_one_line, const Widths& widths) {
  return on_one_line.has_value() && (!widths.narrow || on_one_line->RelativeGap() <= kGapOfOneLine);
}

// On one line without the outcomes far out.
Found EpsilonWithCuts(const Widths& ends, double delta, const Limits& limits) {
  if (delta > 0.5) return std::nullopt;  // no high order matters
  const CutSteps high = WithCuts(ends.upper, delta), low = WithCuts(ends.lower, delta);
  const double left = AddDown(delta, -high.left_out);
  if (!(left > 0)) return std::nullopt;
  double order = kUsualOrder;
  ASSIGN_OR_RETURN(const std::optional<Interval> most, EpsilonOf(high.steps, left, limits, order));
  if (!most.has_value()) return std::nullopt;
  ASSIGN_OR_RETURN(const std::optional<Interval> least, EpsilonOf(low.steps, delta, limits, order));
  if (!least.has_value()) return std::nullopt;
  return Interval{least->lower(), most->upper()};
}

// In one direction: on one line, else by the size of the largest jump. `order` as for
// EpsilonOnLine.
Found EpsilonIn(bool add, const Composition& composition, double delta, const Limits& limits,
                Effort effort, double& order) {
  const Widths widths = StepsOf(composition, add);
  // Up to four lines are laid: together they may take what one may.
  const Interval left = Finite(delta, widths.upper);
  Limits shared = limits;
  shared.max_jump_work /= (widths.narrow ? 1 : 2) * (left.lower() == left.upper() ? 1 : 2);
  ASSIGN_OR_RETURN(std::optional<Interval> on_one_line,
                   Both(widths, [&](const std::vector<Step>& at) {
                     return EpsilonWithInfinite(at, delta, shared, order);
                   }));
  if (!composition.pairs.empty() || IsEnough(on_one_line, widths)) return on_one_line;
  const Widths ends = EndsOfWidth(composition.steps, add);
  ASSIGN_OR_RETURN(const std::optional<Interval> with_cuts, EpsilonWithCuts(ends, delta, shared));
  on_one_line = Narrower(on_one_line, with_cuts);
  if (effort == Effort::kOneLine || IsEnough(on_one_line, widths)) return on_one_line;
  ASSIGN_OR_RETURN(const std::optional<Interval> by_jumps, EpsilonByJumps(ends, delta, limits));
  return Narrower(on_one_line, by_jumps);
}

Found DeltaIn(bool add, const Composition& composition, double epsilon, const Limits& limits,
              Effort effort) {
  const Widths widths = StepsOf(composition, add);
  ASSIGN_OR_RETURN(
      const std::optional<Interval> on_one_line,
      Both(widths, [&](const std::vector<Step>& at) { return DeltaOf(at, epsilon, limits); }));
  const bool alone = effort == Effort::kOneLine || !composition.pairs.empty();
  if (alone || IsEnough(on_one_line, widths)) return on_one_line;
  ASSIGN_OR_RETURN(const std::optional<Interval> by_jumps,
                   DeltaByJumps(EndsOfWidth(composition.steps, add), epsilon, limits));
  return Narrower(on_one_line, by_jumps);
}

// What Chernoff's bound says of ε where no line closes: more than a Rényi curve does where its
// orders end, as those of steps that are small or many.
std::optional<Interval> ByChernoff(const Composition& composition, double delta,
                                   const Limits& limits) {
  double upper = 0;
  for (const bool add : {false, true}) {
    const std::vector<Step> steps = StepsOf(composition, add).upper;
    if (std::none_of(steps.begin(), steps.end(), IsFine)) return std::nullopt;
    const double left = Finite(delta, steps).lower();
    if (!(left > 0)) return std::nullopt;
    Tilting tilting(steps, limits);
    const double found =
        EpsilonUpByChernoff(tilting, left, tilting.ForDelta(std::log(left), kUsualOrder).c);
    const double greatest =
        GreatestLoss(composition, add ? Direction::kAdd : Direction::kRemove).upper();
    upper = std::fmax(upper, std::fmin(found, greatest));
  }
  if (!std::isfinite(upper)) return std::nullopt;
  return Interval{0, upper};
}

}  // namespace

bool Applies(const Composition& composition) {
  const auto known = [](const Pair& pair) {
    return PairLoss::Of(pair, false) != nullptr && PairLoss::Of(pair, true) != nullptr;
  };
  return (!composition.steps.empty() || composition.pairs.empty()) &&
         composition.allocations.empty() && composition.curves.empty() &&
         std::all_of(composition.pairs.begin(), composition.pairs.end(),
                     [&](const PairStep& step) { return known(step.upper) && known(step.lower); });
}

Found Epsilon(const Composition& composition, double delta, const Limits& limits,
              std::optional<Direction> direction, Effort effort) {
  if (composition.steps.empty()) return Interval{0, 0};
  double order = kUsualOrder;
  if (direction.has_value()) {
    return EpsilonIn(*direction == Direction::kAdd, composition, delta, limits, effort, order);
  }
  ASSIGN_OR_RETURN(const std::optional<Interval> remove,
                   EpsilonIn(false, composition, delta, limits, effort, order));
  if (!remove.has_value()) return ByChernoff(composition, delta, limits);
  // δ(0) is the total variation, the same in both directions.
  if (remove->upper() == 0) return remove;
  // The guarantee is the worse of the two directions.
  const double greatest_add = GreatestLoss(composition, Direction::kAdd).upper();
  if (greatest_add <= remove->lower()) return remove;
  const std::vector<Step> reversed = StepsOf(composition, true).upper;
  const double left = Finite(delta, reversed).lower();
  if (!(left > 0)) return std::nullopt;
  Tilting tilting(reversed, limits);
  if (OrderShowingBelow(tilting, left, remove->lower(), order) > 0) return remove;
  ASSIGN_OR_RETURN(std::optional<Interval> add,
                   EpsilonIn(true, composition, delta, limits, effort, order));
  if (!add.has_value()) {
    add = Interval{0, std::fmin(greatest_add, EpsilonUpByChernoff(tilting, left, order))};
  }
  const Interval worse{std::fmax(remove->lower(), add->lower()),
                       std::fmax(remove->upper(), add->upper())};
  if (!std::isfinite(worse.upper())) return std::nullopt;
  return worse;
}

Found Delta(const Composition& composition, double epsilon, const Limits& limits,
            std::optional<Direction> direction, Effort effort) {
  if (composition.steps.empty()) return Interval{0, 0};
  if (direction.has_value()) {
    return DeltaIn(*direction == Direction::kAdd, composition, epsilon, limits, effort);
  }
  ASSIGN_OR_RETURN(const std::optional<Interval> remove,
                   DeltaIn(false, composition, epsilon, limits, effort));
  if (!remove.has_value()) return std::nullopt;
  ASSIGN_OR_RETURN(std::optional<Interval> add,
                   DeltaIn(true, composition, epsilon, limits, effort));
  if (!add.has_value()) {
    if (epsilon >= GreatestLoss(composition, Direction::kAdd).upper()) return remove;
    const std::vector<Step> reversed = StepsOf(composition, true).upper;
    Tilting tilting(reversed, limits);
    add = Interval{0, std::fmin(1, AddUp(DeltaUpByChernoff(tilting, epsilon),
                                         InfiniteMass(reversed).upper()))};
  }
  return Interval{std::fmax(remove->lower(), add->lower()),
                  std::fmax(remove->upper(), add->upper())};
}

absl::StatusOr<std::vector<std::optional<Interval>>> DeltasIn(Direction direction,
                                                              const Composition& composition,
                                                              const std::vector<double>& epsilons,
                                                              const Limits& limits) {
  if (composition.steps.empty()) {
    return std::vector<std::optional<Interval>>(epsilons.size(), Interval{0, 0});
  }
  // No line passes the greatest loss, which takes long to find out.
  const double greatest = GreatestLoss(composition, direction).upper();
  const std::vector<double> below(epsilons.begin(),
                                  std::lower_bound(epsilons.begin(), epsilons.end(), greatest));
  const Widths widths = StepsOf(composition, direction == Direction::kAdd);
  ASSIGN_OR_RETURN(std::vector<std::optional<Interval>> upper,
                   DeltasWithInfinite(widths.upper, below, kMany, limits));
  if (!widths.narrow) {
    ASSIGN_OR_RETURN(const std::vector<std::optional<Interval>> lower,
                     DeltasWithInfinite(widths.lower, below, kMany, limits));
    for (size_t i = 0; i < below.size(); ++i) {
      if (!upper[i].has_value()) continue;
      if (lower[i].has_value()) {
        upper[i] = Interval{lower[i]->lower(), upper[i]->upper()};
      } else {
        upper[i].reset();
      }
    }
  }
  upper.resize(epsilons.size(), Interval{0, 0});
  return upper;
}

}  // namespace dpledger::accountant::contour
