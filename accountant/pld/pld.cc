#include "accountant/pld/pld.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"
#include "accountant/numeric/rounding.h"
#include "accountant/pld/refine.h"
#include "accountant/pld/replaced_epochs.h"
#include "accountant/pld/search.h"
#include "accountant/pld/sketch.h"
#include "accountant/pld/steps.h"
#include "accountant/pld/work.h"
#include "accountant/rdp/rdp.h"
#include "base/status.h"

namespace dpledger::accountant::pld {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
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
std::vector<Direction> Needed(std::vector<Direction> directions, const Steps& steps) {
  if (steps.symmetric()) directions.resize(1);
  return directions;
}

// The Rényi bound takes microseconds, and an answer whose time is up may still have it.
Limits Unhurried(Limits limits) {
  limits.deadline = absl::InfiniteFuture();
  return limits;
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

Bounds BoundsOf(const std::optional<Interval>& found, Interval unknown, double relative_gap) {
  if (!found.has_value()) return {unknown, false, false};
  return {*found, found->RelativeGap() <= relative_gap};
}

absl::StatusOr<Bounds> EpsilonOver(std::vector<Direction> directions,
                                   const Composition& composition, double delta,
                                   double relative_gap, const Limits& limits, EpochLaws* shared) {
  RETURN_IF_ERROR(CheckApplies(composition));
  RETURN_IF_ERROR(limits.Check());
  EpochLaws unshared;
  EpochLaws& laws = shared != nullptr ? *shared : unshared;
  const Steps steps(composition, laws);
  if (steps.empty()) return Bounds{{0, 0}, true};
  if (const AllocatedGaussian* epoch = OneReplaced(composition)) {
    ASSIGN_OR_RETURN(const std::optional<Interval> found,
                     EpsilonOfOne(*epoch, delta, relative_gap, laws, limits));
    return BoundsOf(found, {0, kInfinity}, relative_gap);
  }
  Bounds bounds{{0, kInfinity}, false, false};
  if (composition.TotalCount() <= kGreatestCount) {
    const double log_delta_down = LogDown(delta), log_delta_up = LogUp(delta);
    const double tail = TailMass(composition, std::log(delta));
    const absl::StatusOr<Sketch> drawn = steps.Draw(tail, limits);
    if (absl::IsResourceExhausted(drawn.status())) return bounds;
    RETURN_IF_ERROR(drawn.status());
    const Sketch& sketch = *drawn;
    Question question;
    question.window_tail = WindowTail(relative_gap);
    // If ε is near the greatest loss, the saddle is far out. A tilt that resolves no more than the
    // width that the interval may have shows the same.
    const auto blunted = [relative_gap](double tilt, double at) {
      return at > 0 ? std::fmin(tilt, 100 / (relative_gap * at)) : tilt;
    };
    question.expect = [&](Direction direction) {
      Sketch::Estimate e = sketch.AtDelta(direction, log_delta_down);
      e.tilt = blunted(e.tilt, e.epsilon);
      return e;
    };
    question.value = [](const Sketch::Estimate& e) { return e.epsilon; };
    question.mesh = [&](Direction direction, const Sketch::Estimate& e) {
      const double epsilon = e.epsilon > 0 ? e.epsilon : 0.3 * std::sqrt(e.at.variance);
      return sketch.Mesh(direction, e.tilt, relative_gap * epsilon / (e.tilt + 1));
    };
    question.upper = [&](const DirectedLosses& losses,
                         Sketch::Estimate& e) -> absl::StatusOr<double> {
      const double limit = losses.GreatestLoss();
      if (losses.InfiniteMass(Side::kUpper) > delta) return kInfinity;
      if (losses.Empty()) return 0;
      if (e.from_bounds) e.tilt = blunted(losses.Tilt(e.epsilon, e.tilt), e.epsilon);
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
        e.tilt = blunted(losses.Tilt(upper, e.tilt), upper);
      }
      if (upper > 0 && std::isfinite(upper)) {
        e.epsilon = upper;
        e.from_bounds = true;
      }
      return upper;
    };
    question.lower = [&](const DirectedLosses& losses, const Sketch::Estimate& e,
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
      ASSIGN_OR_RETURN(const double again, surely(blunted(own.tilt, own.epsilon),
                                                  std::fmin(std::fmin(upper, losses.GreatestLoss()),
                                                            own.epsilon + spread)));
      return std::fmax(found, again);
    };
    ASSIGN_OR_RETURN(bounds, Refine(steps, sketch, Needed(std::move(directions), steps), question,
                                    tail, relative_gap, limits));
    bounds.work = question.work;
  }
  if (!bounds.met && composition.OnlyGaussians()) {
    ASSIGN_OR_RETURN(const rdp::Converted renyi,
                     rdp::EpsilonFromCurve(rdp::CurveOf(composition), delta, Unhurried(limits)));
    bounds.value = Meet(bounds.value, "pld", {0, renyi.value}, "rdp");
    bounds.met = bounds.value.RelativeGap() <= relative_gap;
  }
  return bounds;
}

absl::StatusOr<Bounds> DeltaOver(std::vector<Direction> directions, const Composition& composition,
                                 double epsilon, double relative_gap, const Limits& limits,
                                 EpochLaws* shared) {
  RETURN_IF_ERROR(CheckApplies(composition));
  RETURN_IF_ERROR(limits.Check());
  EpochLaws unshared;
  EpochLaws& laws = shared != nullptr ? *shared : unshared;
  const Steps steps(composition, laws);
  if (steps.empty()) return Bounds{{0, 0}, true};
  if (const AllocatedGaussian* epoch = OneReplaced(composition)) {
    ASSIGN_OR_RETURN(const std::optional<Interval> found,
                     DeltaOfOne(*epoch, epsilon, relative_gap, laws, limits));
    return BoundsOf(found, {0, 1}, relative_gap);
  }
  Bounds bounds{{0, 1}, false, false};
  if (composition.TotalCount() <= kGreatestCount) {
    const double tail = 1e-20;
    const absl::StatusOr<Sketch> drawn = steps.Draw(tail, limits);
    if (absl::IsResourceExhausted(drawn.status())) return bounds;
    RETURN_IF_ERROR(drawn.status());
    const Sketch& sketch = *drawn;
    Question question;
    question.window_tail = WindowTail(relative_gap);
    question.expect = [&](Direction direction) { return sketch.AtEpsilon(direction, epsilon); };
    question.value = [](const Sketch::Estimate& e) { return std::exp(std::fmin(0, e.log_delta)); };
    // d log δ/dε is about -c.
    question.mesh = [&](Direction direction, const Sketch::Estimate& e) {
      return sketch.Mesh(direction, e.tilt, relative_gap / (e.tilt * (e.tilt + 1)));
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
    ASSIGN_OR_RETURN(
        bounds, Refine(steps, sketch, Needed(std::move(directions), steps), question,
                       TailMass(composition, std::fmin(0, log_delta) - 3), relative_gap, limits));
    bounds.work = question.work;
  }
  bounds.value = {std::fmin(1, bounds.value.lower()), std::fmin(1, bounds.value.upper())};
  if (!bounds.met && composition.OnlyGaussians()) {
    ASSIGN_OR_RETURN(const rdp::Converted renyi,
                     rdp::DeltaFromCurve(rdp::CurveOf(composition), epsilon, Unhurried(limits)));
    bounds.value = Meet(bounds.value, "pld", {0, renyi.value}, "rdp");
    bounds.met = bounds.value.RelativeGap() <= relative_gap;
  }
  return bounds;
}

}  // namespace

absl::StatusOr<Bounds> Epsilon(const Composition& composition, double delta, double relative_gap,
                               const Limits& limits, EpochLaws* laws) {
  return EpsilonOver({Direction::kRemove, Direction::kAdd}, composition, delta, relative_gap,
                     limits, laws);
}

absl::StatusOr<Bounds> Delta(const Composition& composition, double epsilon, double relative_gap,
                             const Limits& limits, EpochLaws* laws) {
  return DeltaOver({Direction::kRemove, Direction::kAdd}, composition, epsilon, relative_gap,
                   limits, laws);
}

absl::StatusOr<Bounds> EpsilonIn(Direction direction, const Composition& composition, double delta,
                                 double relative_gap, const Limits& limits, EpochLaws* laws) {
  return EpsilonOver({direction}, composition, delta, relative_gap, limits, laws);
}

absl::StatusOr<Bounds> DeltaIn(Direction direction, const Composition& composition, double epsilon,
                               double relative_gap, const Limits& limits, EpochLaws* laws) {
  return DeltaOver({direction}, composition, epsilon, relative_gap, limits, laws);
}

}  // namespace dpledger::accountant::pld
