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

// How far from the saddle a tilt may be, in units of the saddle's width.
constexpr double kNear = 2;
// Bins of a composition near the δ that matters; some 2 MiB, and a few milliseconds.
constexpr int64_t kFewBins = 1 << 18;
// Coarser meshes that are tried where the first is out of reach.
constexpr int kCoarser = 12;

}  // namespace

GridProfile::GridProfile(Bound upper, Bound lower, double window_tail, const Limits& limits)
    : upper_(std::move(upper)),
      lower_(std::move(lower)),
      window_tail_(window_tail),
      limits_(limits) {}

absl::StatusOr<GridProfile> GridProfile::Of(const Composition& composition, Direction direction,
                                            double delta, double relative_gap,
                                            const Limits& limits) {
  RETURN_IF_ERROR(limits.Check());
  const Steps steps(composition);
  const double window_tail = WindowTail(relative_gap);
  const double tail = TailMass(composition, std::log(delta));
  ASSIGN_OR_RETURN(const Sketch sketch, steps.Draw(tail, limits));
  const Sketch::Estimate at = sketch.AtDelta(direction, std::log(delta));
  double mesh =
      FirstMesh(steps, sketch, at,
                sketch.Mesh(direction, at.tilt, relative_gap / (at.tilt * (at.tilt + 1))), limits);
  Limits few = limits;
  few.max_fft_bins = std::min(limits.max_fft_bins, kFewBins);
  absl::Status out_of_reach;
  for (int i = 0; i < kCoarser; ++i, mesh *= 2) {
    const auto attempt = [&]() -> absl::StatusOr<GridProfile> {
      ASSIGN_OR_RETURN(const Discretised made, steps.Discretise(steps.Aligned(mesh), tail, limits));
      Bound upper{made.In(direction, Side::kUpper), at.tilt, std::nullopt};
      Bound lower{made.In(direction, Side::kLower), at.tilt, std::nullopt};
      if (!upper.losses.Empty()) {
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

absl::Status GridProfile::Tilt(double epsilon, Bound& bound) {
  const double tilt = bound.losses.Tilt(epsilon, bound.tilt);
  const double width = std::sqrt(bound.losses.LogMgf(tilt).variance);
  if (bound.composed.has_value() && std::fabs(bound.tilt - tilt) * width <= kNear) {
    return absl::OkStatus();
  }
  bound.tilt = tilt;
  bound.composed.reset();
  absl::StatusOr<Composed> composed = Composed::Compose(bound.losses, tilt, limits_, window_tail_);
  if (absl::IsResourceExhausted(composed.status())) return absl::OkStatus();
  RETURN_IF_ERROR(composed.status());
  bound.composed = *std::move(composed);
  return absl::OkStatus();
}

absl::StatusOr<Interval> GridProfile::DeltaAt(double epsilon) {
  const auto finite = [&](const Bound& bound) {
    return !bound.losses.Empty() && epsilon < bound.losses.GreatestLoss();
  };
  Interval delta{lower_.losses.InfiniteMass(Side::kLower),
                 upper_.losses.InfiniteMass(Side::kUpper)};
  if (finite(upper_)) {
    RETURN_IF_ERROR(Tilt(epsilon, upper_));
    delta.upper =
        upper_.composed.has_value() ? std::fmin(1, ExpUp(upper_.composed->LogDeltaUp(epsilon))) : 1;
  }
  if (finite(lower_)) {
    RETURN_IF_ERROR(Tilt(epsilon, lower_));
    if (lower_.composed.has_value()) {
      delta.lower = std::fmin(delta.upper, ExpDown(lower_.composed->LogDeltaDown(epsilon)));
    }
  }
  return delta;
}

}  // namespace dpledger::accountant::pld
