// The privacy profile of one run, in both directions, as bounds that are cheap to ask many times:
// certified at the nodes of a lattice in ε, and bounded between them by convexity.
//
// δ is convex in e^ε (it is a supremum of Q(S) - e^ε Q'(S)), so a chord bounds it from above and a
// neighbouring chord's continuation from below. Nodes are computed as they are first asked for. Not
// thread safe.
#pragma once

#include <map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "accountant/interval.h"
#include "accountant/limits.h"
#include "accountant/mechanism/composition.h"

namespace dpledger::accountant::selection {

class RunProfile {
 public:
  // `epsilon` and `delta`: about where the profile matters. Nodes are close together up to twice
  // that ε, and have all their digits down to a small part of that δ. `run` and `limits` must
  // outlive this.
  RunProfile(const Composition& run, double epsilon, double delta, const Limits& limits);

  // Whether some engine has this composition's profile.
  static bool Applies(const Composition& run);

  // Bounds on δ(epsilon) in a direction; any real epsilon. 1 and 0 once stopped() is not OK.
  double Up(Direction direction, double epsilon);
  double Down(Direction direction, double epsilon);

  // The lattice: ε of node `index`, and δ there. Nodes past the last are as the last.
  double At(size_t index) const;
  Interval Node(Direction direction, size_t index);
  size_t last() const { return last_; }

  // Both directions are the same.
  bool symmetric() const { return symmetric_; }
  Method engine() const { return engine_; }
  // DEADLINE_EXCEEDED or CANCELLED, from the first node that met it.
  const absl::Status& stopped() const { return stopped_; }

 private:
  // Nodes are computed so many at a time: lines of the contour are shared.
  static constexpr size_t kBlock = 32;

  size_t Below(double epsilon) const;
  double AtMost(Direction direction, size_t index) const;
  absl::StatusOr<std::vector<Interval>> Compute(Direction direction, size_t from, size_t count);
  double RenyiDelta(double epsilon);

  const Composition& run_;
  const Limits& limits_;
  Method engine_ = Method::kPld;
  bool symmetric_ = false;
  double spacing_;
  size_t even_;  // nodes with one spacing; then each is further by one part in kGrowth
  size_t last_;
  double tiny_;
  size_t block_ = kBlock;
  int answered_by_pld_ = 0;
  std::map<size_t, std::vector<Interval>> blocks_[2];  // by first node; of one direction each
  struct OrderBound {
    double order, log_moment;  // (order - 1) R(order)
  };
  std::vector<OrderBound> renyi_;
  double failure_ = 0;
  absl::Status stopped_;
};

}  // namespace dpledger::accountant::selection
