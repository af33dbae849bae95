#include "accountant/contour/contour.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "accountant/contour/laid_line.h"
#include "accountant/contour/line.h"
#include "accountant/contour/saddle.h"
#include "accountant/contour/steps_of.h"
#include "accountant/numeric/rounding.h"
#include "base/status.h"

namespace dpledger::accountant::contour {
namespace {

constexpr double kLeastLogDelta = -800;

using Found = absl::StatusOr<std::optional<Interval>>;

// `order` as for LayForDelta.
Found EpsilonOf(const std::vector<Step>& steps, double delta, const Limits& limits, double& order) {
  Tilting tilting(steps, limits);
  ASSIGN_OR_RETURN(const std::optional<LaidLine> laid, LayForDelta(tilting, delta, order));
  if (!laid.has_value()) return std::nullopt;
  return std::optional<Interval>(laid->epsilon);
}

// A line through the saddle of δ(epsilon); nothing if none is within reach.
absl::StatusOr<std::optional<Line>> LineAt(Tilting& tilting, double epsilon, double order) {
  // δ would be below the least double.
  if (tilting.At(1).log_mgf - epsilon < kLeastLogDelta) return std::nullopt;
  const Saddle saddle = tilting.ForEpsilon(epsilon, order);
  RETURN_IF_ERROR(tilting.stopped());
  if (!(saddle.log_mgf - saddle.c * epsilon > kLeastLogDelta)) return std::nullopt;
  return Line::Through(tilting, saddle, epsilon);
}

Interval DeltaOn(Line& line, double epsilon) {
  const Line::LogDelta bounds = line.LogDeltaAt(epsilon);
  return {ExpDown(bounds.lower), std::fmin(1, ExpUp(bounds.upper))};
}

bool Useful(const Interval& delta) { return delta.lower > 0 && delta.RelativeGap() <= kUsefulGap; }

// At each of `epsilons`, ascending: a line serves as far as it keeps its gap.
absl::StatusOr<std::vector<std::optional<Interval>>> DeltasOf(const std::vector<Step>& steps,
                                                              const std::vector<double>& epsilons,
                                                              const Limits& limits) {
  // A line serves as far as it keeps this gap, or twice the gap it has where it was laid.
  constexpr double kSharedGap = 1e-8;
  Tilting tilting(steps, limits);
  std::optional<Line> line;
  double order = 1, shared_gap = kSharedGap;
  std::vector<std::optional<Interval>> result;
  for (const double epsilon : epsilons) {
    Interval delta{0, 1};
    if (line.has_value()) delta = DeltaOn(*line, epsilon);
    if (!(delta.lower > 0 && delta.RelativeGap() <= shared_gap)) {
      ASSIGN_OR_RETURN(line, LineAt(tilting, epsilon, order));
      if (line.has_value()) {
        delta = DeltaOn(*line, epsilon);
        order = line->c();
        shared_gap = std::fmax(kSharedGap, 2 * delta.RelativeGap());
      }
    }
    result.push_back(line.has_value() && Useful(delta) ? std::optional<Interval>(delta)
                                                       : std::nullopt);
  }
  return result;
}

Found DeltaOf(const std::vector<Step>& steps, double epsilon, const Limits& limits) {
  ASSIGN_OR_RETURN(const std::vector<std::optional<Interval>> found,
                   DeltasOf(steps, {epsilon}, limits));
  return found[0];
}

// An upper bound from the one end of μ, a lower from the other.
template <typename Question>
Found Both(const Widths& widths, const Question& question) {
  ASSIGN_OR_RETURN(const std::optional<Interval> upper, question(widths.upper));
  if (!upper.has_value() || widths.narrow) return upper;
  ASSIGN_OR_RETURN(const std::optional<Interval> lower, question(widths.lower));
  if (!lower.has_value()) return std::nullopt;
  return Interval{lower->lower, upper->upper};
}

}  // namespace

absl::StatusOr<std::optional<Interval>> Epsilon(const Composition& composition, double delta,
                                                const Limits& limits) {
  if (composition.steps.empty()) return Interval{0, 0};
  double order = kUsualOrder;
  const auto question = [&](const std::vector<Step>& steps) {
    return EpsilonOf(steps, delta, limits, order);
  };
  ASSIGN_OR_RETURN(const std::optional<Interval> remove,
                   Both(StepsOf(composition.steps, false), question));
  if (!remove.has_value()) return std::nullopt;
  // The guarantee is the worse of the two directions.
  const Widths reversed = StepsOf(composition.steps, true);
  if (GreatestAddLossUp(composition.steps) <= remove->lower) return remove;
  Tilting tilting(reversed.upper, limits);
  if (OrderShowingBelow(tilting, delta, remove->lower, order) > 0) return remove;
  ASSIGN_OR_RETURN(const std::optional<Interval> add, Both(reversed, question));
  if (!add.has_value()) return std::nullopt;
  return Interval{std::fmax(remove->lower, add->lower), std::fmax(remove->upper, add->upper)};
}

absl::StatusOr<std::optional<Interval>> Delta(const Composition& composition, double epsilon,
                                              const Limits& limits) {
  ASSIGN_OR_RETURN(const std::optional<Interval> remove,
                   DeltaIn(Direction::kRemove, composition, epsilon, limits));
  if (!remove.has_value()) return std::nullopt;
  ASSIGN_OR_RETURN(const std::optional<Interval> add,
                   DeltaIn(Direction::kAdd, composition, epsilon, limits));
  if (!add.has_value()) return std::nullopt;
  return Interval{std::fmax(remove->lower, add->lower), std::fmax(remove->upper, add->upper)};
}

absl::StatusOr<std::optional<Interval>> EpsilonIn(Direction direction,
                                                  const Composition& composition, double delta,
                                                  const Limits& limits) {
  if (composition.steps.empty()) return Interval{0, 0};
  double order = kUsualOrder;
  return Both(
      StepsOf(composition.steps, direction == Direction::kAdd),
      [&](const std::vector<Step>& steps) { return EpsilonOf(steps, delta, limits, order); });
}

absl::StatusOr<std::optional<Interval>> DeltaIn(Direction direction, const Composition& composition,
                                                double epsilon, const Limits& limits) {
  if (composition.steps.empty()) return Interval{0, 0};
  return Both(StepsOf(composition.steps, direction == Direction::kAdd),
              [&](const std::vector<Step>& steps) { return DeltaOf(steps, epsilon, limits); });
}

absl::StatusOr<std::vector<std::optional<Interval>>> DeltasIn(Direction direction,
                                                              const Composition& composition,
                                                              const std::vector<double>& epsilons,
                                                              const Limits& limits) {
  if (composition.steps.empty()) {
    return std::vector<std::optional<Interval>>(epsilons.size(), Interval{0, 0});
  }
  const Widths widths = StepsOf(composition.steps, direction == Direction::kAdd);
  ASSIGN_OR_RETURN(std::vector<std::optional<Interval>> upper,
                   DeltasOf(widths.upper, epsilons, limits));
  if (widths.narrow) return upper;
  ASSIGN_OR_RETURN(const std::vector<std::optional<Interval>> lower,
                   DeltasOf(widths.lower, epsilons, limits));
  for (size_t i = 0; i < epsilons.size(); ++i) {
    if (!upper[i].has_value()) continue;
    if (lower[i].has_value()) {
      upper[i]->lower = lower[i]->lower;
    } else {
      upper[i].reset();
    }
  }
  return upper;
}

}  // namespace dpledger::accountant::contour
