// The pair of a privacy profile: a mechanism that is known only by bounds on its δ(ε) composes like
// one with a pair of its own. Proof: mechanism/CLAIM.md, section 7.
#pragma once

#include <vector>

#include "accountant/pair/pair.h"
#include "accountant/pair/pairs.h"

namespace dpledger::accountant {

// A proven bound on a profile in one direction: δ(epsilon) <= delta.
struct ProfilePoint {
  double epsilon;  // >= 0, at most kGreatestProfileEpsilon
  double delta;    // in [0, 1]
};
inline constexpr double kGreatestProfileEpsilon = 600;

// The least revealing pair that dominates everything whose profile is bounded so: its δ is, as a
// function of e^ε over both directions, the greatest convex one through or below the points. At
// most one atom a point; past a direction's last point δ stays. Masses are rounded up. `remove` and
// `add`: ε ascending; no points show nothing. A lower pair has the same δ with masses rounded
// down, and each direction's last point is at 0: for points of PointsBelow.
Pair PairOfProfile(std::vector<ProfilePoint> remove, std::vector<ProfilePoint> add,
                   Bound bound = Bound::kUpper);

// Bounds on a profile in one direction, at ascending ε from 0 on.
struct ProfileBounds {
  double epsilon;
  double lower, upper;  // of δ
};
// Points of that direction whose convex function nowhere exceeds the profile: a tangent of
// it from each side meets between each two ε. `opposite`: the other direction's; of both at least
// two, and the same at 0.
std::vector<ProfilePoint> PointsBelow(const std::vector<ProfileBounds>& bounds,
                                      const std::vector<ProfileBounds>& opposite);

}  // namespace dpledger::accountant
