// The trade-off curve f(α): the least type II error β of any test whose type I error is α, for an
// attacker who sees the output (Dong, Roth, Su 2019, arXiv 1905.02383, def. 2.1). It is bounded on
// both sides from finitely many values of the privacy profile.
//
// All bounds are on the risk function R(x) = min over tests of β + xα, x > 0. It is the profile in
// other coordinates: R(e^ε) = 1 - δ(ε). R is concave and non-decreasing, R(0) = 0 and R(x) <=
// min(1, x); f(α) = sup over x of R(x) - xα. Claim: profile/CLAIM.md.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "accountant/interval.h"

namespace dpledger::accountant::profile {

// R(x), known to lie in an interval.
struct RiskPoint {
  double x;
  Interval risk;
};

// R(e^ε) from δ(ε) of the same direction, ε in [0, 700].
RiskPoint RiskAt(double epsilon, const Interval& delta);
// R(e^-ε) = e^-ε (1 - δ'(ε)) from δ' of the other direction, ε in [0, 700].
RiskPoint RiskBelow(double epsilon, const Interval& other_delta);

// Bounds on R between and beyond finitely many points. Immutable, thread safe.
class RiskFunction {
 public:
  // x > 0, increasing; at least two points.
  explicit RiskFunction(std::vector<RiskPoint> points);

  // A bound and the segment that it comes from. Segment 0 is [0, x of the first point], segment i
  // lies between points i - 1 and i, segment size() lies beyond the last point.
  struct Widest {
    double value;
    size_t segment;
  };

  // f(α), α in [0, 1], as an interval. `widest`, unless null, gets the segment that the upper end
  // comes from: another point helps most there.
  Interval TypeTwoError(double alpha, size_t* widest = nullptr) const;

  // An upper bound on max over x in [x of the first point, x of the last] of
  //   (R(x) - other(x))/(1 + x)
  // for a concave function `other`, given by lower bounds at the points, in their order.
  Widest GreatestExcess(const std::vector<double>& other) const;

  size_t size() const { return points_.size(); }
  const std::vector<RiskPoint>& points() const { return points_; }

 private:
  // Two linear functions, both at least R on a segment, given by their values at its ends.
  struct Cap {
    double first_from, first_to;
    double second_from, second_to;
  };
  // The least upper bound that a mean of the two gives on the maximum over the segment of
  // (R - g)·w, where g is linear and given at the ends by lower bounds, w = 1 or 1/(1 + x).
  static double ExcessOver(const Cap& cap, double g_from, double g_to, double w_from, double w_to);
  double BeyondLast(double alpha) const;

  std::vector<RiskPoint> points_;
  std::vector<Cap> caps_;  // of segments 0 to size() - 1
};

}  // namespace dpledger::accountant::profile
