#include "accountant/pld/pld.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "accountant/numeric/constants.h"
#include "accountant/numeric/rounding.h"
#include "accountant/pld/refine.h"
#include "accountant/pld/replaced_epochs.h"
#include "accountant/pld/sketch.h"
#include "accountant/pld/steps.h"
#include "accountant/pld/work.h"
#include "accountant/rdp/rdp.h"
#include "base/status.h"

namespace dpledger::accountant::pld {
namespace {

// Beyond, rounding alone (a few u a step) would take the interval's digits.
constexpr double kGreatestCount = 1e12;

absl::Status DoesNotApply(absl::string_view what) {
  return WithReason(absl::FailedPreconditionError(
                        absl::StrCat("method pld: no loss distribution is known of ", what)),
                    {"METHOD_DOES_NOT_APPLY", {{"method", "pld"}, {"subject", std::string(what)}}});
}

absl::Status CheckApplies(const Composition& composition) {
  if (!composition.curves.empty())
    return DoesNotApply("steps that are known by a Rényi curve only");
  return absl::OkStatus();
}

// One direction is enough where both are the same.
std::vector<Direction> Asked(std::optional<Direction> direction, const Steps& steps) {
  if (direction.has_value()) return {*direction};
  if (steps.symmetric()) return {Direction::kRemove};
  return {Direction::kRemove, Direction::kAdd};
}

// The one epoch that a composition is, if a neighbour has a record replaced there: it takes no
// grid.
const AllocatedGaussian* OneReplaced(const Composition& composition) {
  const bool alone =
      composition.steps.empty() && composition.pairs.empty() && composition.allocations.size() == 1;
  if (!alone) return nullptr;
  const AllocatedGaussian& epoch = composition.allocations.front();
  return epoch.replaced && epoch.count == 1 ? &epoch : nullptr;
}

struct Frame {
  double most, tail;  // the greatest value there is; what a sketch may cut
  double relative_gap;
  const Limits& limits;
  EpochLaws* laws;
};

// Answers by the loss grid; an epoch alone by itself, and Gaussians where no grid is fine enough by
// their Rényi curve.
template <typename OfOne, typename OnGrid, typename ByCurve>
absl::StatusOr<Bounds> Answered(const Composition& composition, const Frame& frame,
                                const OfOne& of_one, const OnGrid& on_grid,
                                const ByCurve& by_curve) {
  const auto& [most, tail, relative_gap, limits, shared] = frame;
  RETURN_IF_ERROR(CheckApplies(composition));
  RETURN_IF_ERROR(limits.Check());
  EpochLaws unshared;
  EpochLaws& laws = shared != nullptr ? *shared : unshared;
  const Steps steps(composition, laws);
  if (steps.empty()) return Bounds{{0, 0}, true};
  Bounds bounds{{0, most}, false, false};
  if (const AllocatedGaussian* epoch = OneReplaced(composition)) {
    ASSIGN_OR_RETURN(const std::optional<Interval> found, of_one(*epoch, laws));
    if (!found.has_value()) return bounds;
    return Bounds{*found, found->RelativeGap() <= relative_gap};
  }
  if (composition.TotalCount() <= kGreatestCount) {
    const absl::StatusOr<Sketch> drawn = steps.Draw(tail, limits);
    if (absl::IsResourceExhausted(drawn.status())) return bounds;
    RETURN_IF_ERROR(drawn.status());
    Question question;
    question.window_tail = WindowTail(relative_gap);
    ASSIGN_OR_RETURN(bounds, on_grid(steps, *drawn, question));
    bounds.work = question.work;
    bounds.value = {std::fmin(most, bounds.value.lower()), std::fmin(most, bounds.value.upper())};
  }
  if (!bounds.met && composition.OnlyGaussians()) {
    // It takes microseconds, and an answer whose time is up may still have it.
    Limits unhurried = limits;
    unhurried.deadline = absl::InfiniteFuture();
    ASSIGN_OR_RETURN(const rdp::Converted renyi, by_curve(rdp::CurveOf(composition), unhurried));
    bounds.value = Meet(bounds.value, "pld", {0, renyi.value}, "rdp");
    bounds.met = bounds.value.RelativeGap() <= relative_gap;
  }
  return bounds;
}

// The point at which the decreasing `excess` falls to 0 or below, from above: within `tolerance` of
// where it does if the search got that far, else `limit`. Secants from `guess`, kept in a bracket.
template <typename Excess>
double FallsBelow(const Excess& excess, double guess, double slope, double tolerance,
                  double limit) {
  double positive = 0, falls = limit;
  if (excess(0) <= 0) return 0;
  double at = std::clamp(guess, 0.0, limit), before = 0, before_value = 0;
  for (int i = 0; i < 100 && falls - positive > tolerance; ++i) {
    const double value = excess(at);
    if (value <= 0) {
      falls = std::fmin(falls, at);
    } else if (value > 0) {
      positive = std::fmax(positive, at);
    } else {
      return falls;  // not a number
    }
    if (i > 0 && at != before && std::isfinite(value) && std::isfinite(before_value)) {
      const double secant = (value - before_value) / (at - before);
      if (secant < 0) slope = secant;
    }
    before = at;
    before_value = value;
    // A little past the root, so that the bracket closes from both sides.
    double next = at - value / slope + (value > 0 ? 0.4 : -0.4) * tolerance;
    if (!(next > positive && next < falls)) {
      next = std::isfinite(falls) ? positive + (falls - positive) / 2 : 2 * at + 1;
    }
    if (i % 8 == 7 && std::isfinite(falls)) next = positive + (falls - positive) / 2;
    at = next;
  }
  return falls;
}

// A point below `top` at which `surely` holds, within 0.01 `tolerance` of where it ceases to if it
// does so once; 0 if it holds nowhere it was looked at. Its bound is good near one point only:
// walks down from the top until it holds, then up again.
template <typename Surely>
double HoldsBelow(const Surely& surely, double top, double tolerance) {
  double above = top, holds = 0;
  bool found = false;
  for (double down = 0.1 * tolerance; above > 0 && !found; down *= 4) {
    const double at = std::fmax(0, top - down);
    found = surely(at);
    (found ? holds : above) = at;
  }
  if (!found) return 0;
  for (int i = 0; i < 40 && above - holds > 0.01 * tolerance; ++i) {
    const double at = holds + (above - holds) / 2;
    (surely(at) ? holds : above) = at;
  }
  return holds;
}

// If ε is near the greatest loss, the saddle is far out. A tilt that resolves no more than the
// width that the interval may have shows the same.
double Blunted(double relative_gap, double tilt, double at) {
  return at > 0 ? std::fmin(tilt, 100 / (relative_gap * at)) : tilt;
}

// Makes it a question about ε(delta). `sketch` and `limits` must outlive it.
void AskEpsilon(double delta, double relative_gap, const Sketch& sketch, const Limits& limits,
                Question& question) {
  const double log_delta_down = LogDown(delta), log_delta_up = LogUp(delta);
  question.expect = [=, &sketch](Direction in) {
    Sketch::Estimate e = sketch.AtDelta(in, log_delta_down);
    e.tilt = Blunted(relative_gap, e.tilt, e.epsilon);
    return e;
  };
  question.value = [](const Sketch::Estimate& e) { return e.epsilon; };
  question.mesh = [=, &sketch](Direction in, const Sketch::Estimate& e) {
    const double epsilon = e.epsilon > 0 ? e.epsilon : 0.3 * std::sqrt(e.at.variance);
    return sketch.Mesh(in, e.tilt, relative_gap * epsilon / (e.tilt + 1));
  };
  question.upper = [=, &limits, &question](const DirectedLosses& losses,
                                           Sketch::Estimate& e) -> absl::StatusOr<double> {
    const double limit = losses.GreatestLoss();
    if (losses.InfiniteMass(Side::kUpper) > delta) return kInfinity;
    if (losses.Empty()) return 0;
    if (e.from_bounds) e.tilt = Blunted(relative_gap, losses.Tilt(e.epsilon, e.tilt), e.epsilon);
    double upper = kInfinity;
    for (int i = 0; i < 3; ++i) {
      ASSIGN_OR_RETURN(const Composed composed, question.Compose(losses, e.tilt, limits));
      const auto too_much = [&](double at) { return composed.LogDeltaUp(at) - log_delta_down; };
      const double tolerance = std::fmax(1e-14, 1e-3 * relative_gap) * e.epsilon + 1e-18;
      double found = FallsBelow(too_much, e.epsilon, -(e.tilt + 0.5), tolerance, limit);
      if (found == limit && !(too_much(limit) <= 0)) found = kInfinity;
      upper = std::fmin(upper, found);
      // A tilt for an ε more than two standard deviations away loses digits: once more from what
      // was found.
      const double sd = std::sqrt(losses.LogMgf(e.tilt).variance);
      if (!std::isfinite(upper) ||
          std::fabs(upper - e.epsilon) <= 2 * sd + 0.1 * relative_gap * upper)
        break;
      e.epsilon = upper;
      e.tilt = Blunted(relative_gap, losses.Tilt(upper, e.tilt), upper);
    }
    if (upper > 0 && std::isfinite(upper)) {
      e.epsilon = upper;
      e.from_bounds = true;
    }
    return upper;
  };
  question.lower = [=, &limits, &question](const DirectedLosses& losses, const Sketch::Estimate& e,
                                           double upper) -> absl::StatusOr<double> {
    if (losses.InfiniteMass(Side::kLower) > delta) return kInfinity;
    if (losses.Empty() || !std::isfinite(upper)) return 0;
    const auto surely = [&](double tilt, double top) -> absl::StatusOr<double> {
      ASSIGN_OR_RETURN(const Composed composed, question.Compose(losses, tilt, limits));
      return HoldsBelow([&](double at) { return composed.LogDeltaDown(at) > log_delta_up; }, top,
                        relative_gap * upper);
    };
    ASSIGN_OR_RETURN(const double found, surely(e.tilt, upper));
    if (upper - found <= 0.5 * upper) return found;
    // The lower pairs are far from the upper ones: they have a saddle of their own.
    Sketch below;
    for (const DirectedLoss& loss : losses.losses()) {
      below.Add(loss, losses.step(), Direction::kRemove);
    }
    const Sketch::Estimate own = below.AtDelta(Direction::kRemove, log_delta_up);
    const double spread = 2 * std::sqrt(own.at.variance) + 3 / own.tilt;
    ASSIGN_OR_RETURN(const double again, surely(Blunted(relative_gap, own.tilt, own.epsilon),
                                                std::fmin(std::fmin(upper, losses.GreatestLoss()),
                                                          own.epsilon + spread)));
    return std::fmax(found, again);
  };
}

}  // namespace

absl::StatusOr<Bounds> Epsilon(const Composition& composition, double delta, double relative_gap,
                               const Limits& limits, std::optional<Direction> direction,
                               EpochLaws* laws) {
  const double tail = TailMass(composition, std::log(delta));
  const auto on_grid = [&](const Steps& steps, const Sketch& sketch,
                           Question& question) -> absl::StatusOr<Bounds> {
    AskEpsilon(delta, relative_gap, sketch, limits, question);
    return Refine(steps, sketch, Asked(direction, steps), question, tail, relative_gap, limits);
  };
  return Answered(
      composition, Frame{kInfinity, tail, relative_gap, limits, laws},
      [&](const AllocatedGaussian& epoch, EpochLaws& own) {
        return EpsilonOfOne(epoch, delta, relative_gap, own, limits);
      },
      on_grid,
      [&](const rdp::ApproximateCurve& curve, const Limits& unhurried) {
        return rdp::EpsilonFromCurve(curve, delta, unhurried);
      });
}

absl::StatusOr<Bounds> Delta(const Composition& composition, double epsilon, double relative_gap,
                             const Limits& limits, std::optional<Direction> direction,
                             EpochLaws* laws) {
  const auto on_grid = [&](const Steps& steps, const Sketch& sketch,
                           Question& question) -> absl::StatusOr<Bounds> {
    question.expect = [&](Direction in) { return sketch.AtEpsilon(in, epsilon); };
    question.value = [](const Sketch::Estimate& e) { return std::exp(std::fmin(0, e.log_delta)); };
    // d log δ/dε is about -c.
    question.mesh = [&](Direction in, const Sketch::Estimate& e) {
      return sketch.Mesh(in, e.tilt, relative_gap / (e.tilt * (e.tilt + 1)));
    };
    question.upper = [&](const DirectedLosses& losses,
                         Sketch::Estimate& e) -> absl::StatusOr<double> {
      if (losses.Empty() || epsilon >= losses.GreatestLoss())
        return losses.InfiniteMass(Side::kUpper);
      e.tilt = losses.Tilt(epsilon, e.tilt);
      ASSIGN_OR_RETURN(const Composed composed, question.Compose(losses, e.tilt, limits));
      return std::fmin(1, ExpUp(composed.LogDeltaUp(epsilon)));
    };
    question.lower = [&](const DirectedLosses& losses, const Sketch::Estimate& e,
                         double upper) -> absl::StatusOr<double> {
      if (losses.Empty() || epsilon >= losses.GreatestLoss())
        return losses.InfiniteMass(Side::kLower);
      const auto surely = [&](double tilt) -> absl::StatusOr<double> {
        ASSIGN_OR_RETURN(const Composed composed, question.Compose(losses, tilt, limits));
        return std::fmin(upper, ExpDown(composed.LogDeltaDown(epsilon)));
      };
      ASSIGN_OR_RETURN(const double found, surely(e.tilt));
      if (found >= 0.5 * upper) return found;
      // The lower pairs are far from the upper ones: they have a saddle of their own.
      ASSIGN_OR_RETURN(const double again, surely(losses.Tilt(epsilon, e.tilt)));
      return std::fmax(found, again);
    };
    const double log_delta = std::fmax(sketch.AtEpsilon(Direction::kRemove, epsilon).log_delta,
                                       sketch.AtEpsilon(Direction::kAdd, epsilon).log_delta);
    const double tail = TailMass(composition, std::fmin(0, log_delta) - 3);
    return Refine(steps, sketch, Asked(direction, steps), question, tail, relative_gap, limits);
  };
  return Answered(
      composition, Frame{1, /*tail=*/1e-20, relative_gap, limits, laws},
      [&](const AllocatedGaussian& epoch, EpochLaws& own) {
        return DeltaOfOne(epoch, epsilon, relative_gap, own, limits);
      },
      on_grid,
      [&](const rdp::ApproximateCurve& curve, const Limits& unhurried) {
        return rdp::DeltaFromCurve(curve, epsilon, unhurried);
      });
}

}  // namespace dpledger::accountant::pld
