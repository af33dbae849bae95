// δ of a composition at many ε, in one direction, on one mesh: much less work than a question each.
#pragma once

#include <optional>

#include "absl/status/statusor.h"
#include "accountant/interval.h"
#include "accountant/limits.h"
#include "accountant/mechanism/composition.h"
#include "accountant/pld/composed.h"
#include "accountant/pld/directed_loss.h"

namespace dpledger::accountant::pld {

class GridProfile {
 public:
  // The mesh is one for which the bounds should be `relative_gap` apart where δ is about `delta`,
  // as far as limits allow and it is soon made; or one `finer` times as fine, finer >= 1.
  // RESOURCE_EXHAUSTED if no mesh is within reach; DEADLINE_EXCEEDED, CANCELLED.
  // Precondition: composition.curves is empty.
  static absl::StatusOr<GridProfile> Of(const Composition& composition, Direction direction,
                                        double delta, double relative_gap, const Limits& limits,
                                        double finer = 1);

  // Bounds on δ(epsilon); epsilon >= 0. Best asked in order. DEADLINE_EXCEEDED, CANCELLED.
  absl::StatusOr<Interval> DeltaAt(double epsilon);

 private:
  // With the composition last made. Any tilt gives valid bounds.
  struct Bound {
    DirectedLosses losses;
    double tilt;
    Interval served;  // the ε for which `composed` is as good as another
    std::optional<Composed> composed;
  };
  GridProfile(Bound upper, Bound lower, double window_tail, const Limits& limits);
  static Interval Served(const DirectedLosses& losses, double tilt);
  // Sees to it that bound.composed has a tilt as good as the saddle's, if one is in reach.
  absl::Status Tilt(double epsilon, Bound& bound);

  Bound upper_, lower_;
  double window_tail_;
  Limits limits_;
};

}  // namespace dpledger::accountant::pld
