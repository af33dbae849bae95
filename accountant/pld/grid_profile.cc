#include "accountant/pld/grid_profile.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/status/status.h"
#include "accountant/numeric/rounding.h"
#include "accountant/pld/sketch.h"
#include "accountant/pld/steps.h"
#include "accountant/pld/work.h"
#include "base/status.h"

namespace dpledger::accountant::pld {
namespace {

// The greatest distance of a tilt from the saddle, in units of the saddle's width.
constexpr double kNear = 2;
// Distances that are tried, each half the one before.
constexpr int kShorter = 6;
// Bins of a composition near the δ that matters, on a mesh that is as fine as another's; some 2
// MiB, and a few milliseconds.
constexpr int64_t kFewBins = 1 << 18;
// Coarser meshes that are tried where the first is out of reach.
constexpr int kCoarser = 12;

bool IsNear(double tilt, double saddle, const DirectedLosses::Cumulants& at_saddle) {
  return std::fabs(tilt - saddle) * std::sqrt(at_saddle.variance) <= kNear;
}

}  // namespace

GridProfile::GridProfile(Bound upper, Bound lower, double window_tail, const Limits& limits)
    : upper_(std::move(upper)),
      lower_(std::move(lower)),
      window_tail_(window_tail),
      limits_(limits) {}

absl::StatusOr<GridProfile> GridProfile::Of(const Composition& composition, Direction direction,
                                            double delta, double relative_gap, const Limits& limits,
                                            double finer) {
  RETURN_IF_ERROR(limits.Check());
  EpochLaws laws;
  const Steps steps(composition, laws);
  const double window_tail = WindowTail(relative_gap);
  const double tail = TailMass(composition, std::log(delta));
  ASSIGN_OR_RETURN(const Sketch sketch, steps.Draw(tail, limits));
  const Sketch::Estimate at = sketch.AtDelta(direction, std::log(delta));
  double mesh =
      FirstMesh(steps, sketch, direction, at, window_tail,
                sketch.Mesh(direction, at.tilt, relative_gap / (at.tilt * (at.tilt + 1))), limits) /
      finer;
  Limits few = limits;
  few.max_fft_bins = std::min(
      limits.max_fft_bins, static_cast<int64_t>(std::ceil(finer * static_cast<double>(kFewBins))));
  absl::Status out_of_reach;
  for (int i = 0; i < kCoarser; ++i, mesh *= 2) {
    const auto attempt = [&]() -> absl::StatusOr<GridProfile> {
      ASSIGN_OR_RETURN(const Discretised made,
                       steps.Discretise(steps.Aligned(mesh), tail, at.tilt, limits));
      Bound upper{made.In(direction, Side::kUpper), at.tilt, {0, 0}, std::nullopt};
      Bound lower{made.In(direction, Side::kLower), at.tilt, {0, 0}, std::nullopt};
      if (!upper.losses.Empty()) {
        upper.served = Served(upper.losses, at.tilt);
        ASSIGN_OR_RETURN(upper.composed,
                         Composed::Compose(upper.losses, at.tilt, few, window_tail));
      }
      return GridProfile(std::move(upper), std::move(lower), window_tail, limits);
    };
    absl::StatusOr<GridProfile> made = attempt();
    if (!absl::IsResourceExhausted(made.status())) return made;
    out_of_reach = made.status();
  }
  return out_of_reach;
}

// The ε whose saddles are as near as IsNear asks: ε grows with its saddle.
Interval GridProfile::Served(const DirectedLosses& losses, double tilt) {
  const auto epsilon = [](const DirectedLosses::Cumulants& at, double s) {
    return at.mean - 1 / s - 1 / (1 + s);
  };
  const DirectedLosses::Cumulants here = losses.LogMgf(tilt);
  const auto reach = [&](double sign) {
    double away = kNear / std::sqrt(here.variance);
    if (sign < 0) away = std::fmin(away, 0.9 * tilt);
    for (int i = 0; i < kShorter; ++i, away /= 2) {
      const double s = tilt + sign * away;
      const DirectedLosses::Cumulants there = losses.LogMgf(s);
      if (IsNear(tilt, s, there)) return epsilon(there, s);
    }
    return epsilon(here, tilt);
  };
  return {reach(-1), reach(1)};
}

absl::Status GridProfile::Tilt(double epsilon, Bound& bound) {
  if (bound.composed.has_value() && bound.served.lower() <= epsilon &&
      epsilon <= bound.served.upper()) {
    return absl::OkStatus();
  }
  const double tilt = bound.losses.Tilt(epsilon, bound.tilt);
  if (bound.composed.has_value() && IsNear(bound.tilt, tilt, bound.losses.LogMgf(tilt))) {
    bound.served = {bound.served.lower(), std::fmax(bound.served.upper(), epsilon)};
    return absl::OkStatus();
  }
  bound.tilt = tilt;
  bound.composed.reset();
  absl::StatusOr<Composed> composed = Composed::Compose(bound.losses, tilt, limits_, window_tail_);
  if (absl::IsResourceExhausted(composed.status())) return absl::OkStatus();
  RETURN_IF_ERROR(composed.status());
  bound.composed = *std::move(composed);
  bound.served = Served(bound.losses, tilt);
  return absl::OkStatus();
}

absl::StatusOr<Interval> GridProfile::DeltaAt(double epsilon) {
  const auto finite = [&](const Bound& bound) {
    return !bound.losses.Empty() && epsilon < bound.losses.GreatestLoss();
  };
  double lower = lower_.losses.InfiniteMass(Side::kLower);
  double upper = upper_.losses.InfiniteMass(Side::kUpper);
  if (finite(upper_)) {
    RETURN_IF_ERROR(Tilt(epsilon, upper_));
    upper =
        upper_.composed.has_value() ? std::fmin(1, ExpUp(upper_.composed->LogDeltaUp(epsilon))) : 1;
  }
  if (finite(lower_)) {
    RETURN_IF_ERROR(Tilt(epsilon, lower_));
    if (lower_.composed.has_value()) {
      lower = std::fmin(upper, ExpDown(lower_.composed->LogDeltaDown(epsilon)));
    }
  }
  return Interval{lower, upper};
}

}  // namespace dpledger::accountant::pld
