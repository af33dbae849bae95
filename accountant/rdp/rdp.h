// Rényi differential privacy: an upper bound from one order, the best order found continuously. It
// gives no lower bound. Claim and error budget: rdp/CLAIM.md.
#pragma once

#include <functional>

#include "absl/status/statusor.h"
#include "accountant/interval.h"
#include "accountant/limits.h"
#include "accountant/mechanism/composition.h"

namespace dpledger::accountant::rdp {

// An upper bound on the Rényi divergence of order α > 1, in both directions; may be infinite.
using Curve = std::function<double(double order)>;

// Σ_i count_i R_i(α) of the composition (Mironov 2017, prop. 1).
Curve CurveOf(const Composition& composition);

// The least ε over orders such that R gives (ε, delta)-DP: ε = R(α) + log(1 - 1/α) - log(δα)/(α -
// 1), at least 0 (Canonne, Kamath, Steinke 2020, prop. 12). Any order gives a valid bound; the
// search only chooses among them.
struct Converted {
  double value;  // ε or δ, rounded up
  double order;
};
absl::StatusOr<Converted> EpsilonFromCurve(const Curve& curve, double delta, const Limits& limits);

// The least δ over orders at `epsilon`: δ = e^{(α-1)(R(α)-ε)} (1 - 1/α)^α/(α - 1), at most 1.
absl::StatusOr<Converted> DeltaFromCurve(const Curve& curve, double epsilon, const Limits& limits);

// The order in [1 + 1e-3, 1e6] that minimises f: a grid in log(α - 1), then golden section around
// its best point.
absl::StatusOr<double> BestOrder(const std::function<double(double order)>& f,
                                 const Limits& limits);

}  // namespace dpledger::accountant::rdp
