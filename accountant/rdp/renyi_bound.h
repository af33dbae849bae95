// Rényi curves that are given, not integrated: zCDP, orders with their ε, bounded range.
#pragma once

#include "accountant/mechanism/renyi_bound.h"

namespace dpledger::accountant::rdp {

// Each an upper bound on the divergence of `order` > 1, in both directions, rounded up.

double Divergence(const ZeroConcentrated& bound, double order);

// Between the orders by convexity of (α - 1) R(α), below the first by monotony, past the last
// infinite.
double Divergence(const OrdersCurve& curve, double order);

// The greatest of any mechanism whose loss lies in some interval of length ε: two outcomes with
// likelihood ratios y and y e^{-ε}, y in [1, e^ε] (Dong, Durfee, Rogers 2020, thm. 3); at most
// αε²/8.
double Divergence(const BoundedRange& range, double order);

}  // namespace dpledger::accountant::rdp
