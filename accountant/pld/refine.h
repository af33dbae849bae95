// A question about one quantity, asked on ever finer loss grids. Private to pld/.
#pragma once

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "accountant/limits.h"
#include "accountant/pair/pair.h"
#include "accountant/pld/composed.h"
#include "accountant/pld/directed_loss.h"
#include "accountant/pld/pld.h"
#include "accountant/pld/sketch.h"
#include "accountant/pld/steps.h"

namespace dpledger::accountant::pld {

// A question about one quantity: its value on a mesh, in one direction.
struct Question {
  double window_tail;    // of Composed
  double work = 0;       // so far
  size_t most_bins = 0;  // of one composition so far
  // The expected value, and its saddle.
  std::function<Sketch::Estimate(Direction)> expect;
  std::function<absl::StatusOr<double>(const DirectedLosses&, Sketch::Estimate&)> upper;
  // At most the upper bound on the same mesh.
  std::function<absl::StatusOr<double>(const DirectedLosses&, const Sketch::Estimate&,
                                       double upper)>
      lower;
  std::function<double(const Sketch::Estimate&)> value;
  // A mesh for which the relative gap should be as wanted.
  std::function<double(Direction, const Sketch::Estimate&)> mesh;

  absl::StatusOr<Discretised> Discretise(const Steps& steps, double step, double tail, double tilt,
                                         const Limits& limits);
  absl::StatusOr<Composed> Compose(const DirectedLosses& losses, double tilt, const Limits& limits);
};

// Refines the mesh until the bounds are as near as wanted, keeping the best of each. `tail`: what
// discretising a step may cut. The only errors are DEADLINE_EXCEEDED (before the first interval)
// and CANCELLED.
absl::StatusOr<Bounds> Refine(const Steps& steps, const Sketch& sketch,
                              std::vector<Direction> directions, Question& question, double tail,
                              double relative_gap, const Limits& limits);

}  // namespace dpledger::accountant::pld
