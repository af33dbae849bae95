// Rényi curves in closed form: zCDP, a table of orders, bounded range.
#pragma once

#include "accountant/mechanism/renyi_bound.h"

namespace dpledger::accountant::rdp {

// Each function gives an upper bound on the divergence of `order` > 1, in both directions, rounded
// up.

double Divergence(const ZeroConcentrated& bound, double order);

// Between two orders: by convexity of (α - 1) R(α). Below the first: by monotonicity. Past the
// last: infinite.
double Divergence(const OrdersCurve& curve, double order);

// The greatest divergence of any mechanism whose loss lies in an interval of length ε: two outcomes
// with likelihood ratios y and y e^{-ε}, y in [1, e^ε] (Dong, Durfee, Rogers 2020, thm. 3); at most
// αε²/8.
double Divergence(const BoundedRange& range, double order);

}  // namespace dpledger::accountant::rdp
