// Bounds on the privacy profile of one run, in both directions, that are cheap to evaluate many
// times: certified at the nodes of a lattice in ε, and interpolated between them by convexity.
//
// δ is convex in e^ε (it is a supremum of Q(S) - e^ε Q'(S)), so a chord bounds it from above and a
// neighbouring chord's continuation from below. Nodes are computed as they are first asked for. Not
// thread safe.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "accountant/interval.h"
#include "accountant/limits.h"
#include "accountant/mechanism/composition.h"
#include "accountant/pld/grid_profile.h"

namespace dpledger::accountant::selection {

class RunProfile {
 public:
  // `epsilon` and `delta` (finite, > 0): roughly where the profile matters. Nodes are dense up to
  // twice `epsilon`, at least `nodes` of them up to it if that is told (not where the grid
  // is asked), and accurate for δ down to a small fraction of `delta`. `run` and `limits` must
  // outlive this.
  RunProfile(const Composition& run, double epsilon, double delta, const Limits& limits,
             std::optional<double> nodes = std::nullopt);

  // Whether some method can compute this composition's profile.
  static bool Applies(const Composition& run);

  // Bounds on δ(epsilon) in a direction; any real epsilon. 1 and 0 once stopped() is not OK.
  double Up(Direction direction, double epsilon);
  double Down(Direction direction, double epsilon);

  // The lattice: ε of node `index`, and δ there. An index past the last means the last node.
  double At(size_t index) const { return lattice_[std::min(index, last_)]; }
  Interval Node(Direction direction, size_t index);
  size_t last() const { return last_; }

  // Whether the profile is the same in both directions.
  bool symmetric() const { return symmetric_; }
  Method engine() const { return engine_; }
  // DEADLINE_EXCEEDED or CANCELLED, from the first node that met it.
  const absl::Status& stopped() const { return stopped_; }

 private:
  // Nodes that are computed at a time: they share lines of the contour, or the transform's
  // compositions.
  static constexpr size_t kBlock = 32;

  size_t Below(double epsilon) const;
  // Appends a block of nodes.
  absl::Status Compute(Direction direction, std::vector<Interval>& nodes);
  absl::StatusOr<std::optional<Interval>> ByPld(Direction direction, double epsilon);
  double RenyiDelta(double epsilon);

  const Composition& run_;
  const Limits& limits_;
  Method engine_ = Method::kPld;
  bool symmetric_ = false;
  double spacing_;
  size_t even_;  // up to this node the spacing is even; from it on each ε is the one before times
                 // kGrowth
  size_t last_;
  std::vector<double> lattice_;  // ε of each node
  double delta_;
  std::optional<pld::GridProfile> on_grid_[2];  // for each direction, once it is needed
  bool on_no_grid_[2] = {false, false};         // none is within reach
  std::vector<Interval> nodes_[2];              // for each direction
  struct OrderBound {
    double order, log_moment;  // (order - 1) R(order)
  };
  std::vector<OrderBound> renyi_;
  double failure_ = 0;
  absl::Status stopped_;
};

}  // namespace dpledger::accountant::selection
