// Rényi differential privacy: an upper bound from the best order found by continuous search. It
// gives no lower bound. Claim and error budget: rdp/CLAIM.md.
#pragma once

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "accountant/interval.h"
#include "accountant/limits.h"
#include "accountant/mechanism/composition.h"

namespace dpledger::accountant::rdp {

// An upper bound on the Rényi divergence of order α > 1, in both directions; may be infinite. Not
// thread safe: a curve caches what its orders share.
using Curve = std::function<double(double order)>;

// The Rényi curve of a mechanism without a rare part (approximate Rényi DP). In each direction,
// with P and Q the laws of the output on the two data sets: p <= P has mass at least 1 - failure,
// and log ∫ p^α Q^{1-α} <= (α - 1) curve(α). `failure` includes the mass with an infinite privacy
// loss. The curve may be negative where failure > 0, for p has less mass than a distribution.
struct ApproximateCurve {
  Curve curve;
  double failure = 0;          // in [0, 1]
  std::vector<double> orders;  // where the curve has corners: the search tries these orders too
  // Set if the directions differ: bounds for one direction each; `curve` is the greater.
  Curve remove = nullptr, add = nullptr;
};

// The sum of the steps' curves (Mironov 2017, prop. 1), for each direction by itself, and failure =
// 1 - Π(1 - failure_i)^count_i. `limits` bound the evaluation of private selection within the
// composition; a curve that exceeds them is infinite.
ApproximateCurve CurveOf(const Composition& composition, const Limits& limits = {});

// The composition with curves in place of pairs of which a curve is known too: these curves have no
// failure, where the pairs' losses may be infinite with a probability far below any δ.
Composition WithCurvesThatNeverFail(Composition composition);

// A bound on the Rényi divergence conditioned on no failure, for mechanisms that run this one
// several times: R(α) - α log(1 - failure)/(α - 1).
Curve GivenNoFailure(const ApproximateCurve& approximate);

// The least ε >= 0 over orders for which R gives (ε, delta)-DP; infinite if delta <= failure. Every
// order gives a valid bound in each direction; the search only chooses among them.
struct Converted {
  double value;  // ε or δ, rounded up
  double order;
};
absl::StatusOr<Converted> EpsilonFromCurve(const ApproximateCurve& curve, double delta,
                                           const Limits& limits);

// The least δ over orders at `epsilon`, at most 1.
absl::StatusOr<Converted> DeltaFromCurve(const ApproximateCurve& curve, double epsilon,
                                         const Limits& limits);

// The order in [1 + 1e-3, 1e6] that minimises f: a grid in log(α - 1), then Brent's method around
// its best point.
absl::StatusOr<double> BestOrder(const std::function<double(double order)>& f,
                                 const Limits& limits);

}  // namespace dpledger::accountant::rdp
