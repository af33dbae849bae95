// Rényi moments of a pair of distributions: point masses and density pieces.
#pragma once

#include "accountant/mechanism/pair.h"
#include "accountant/rdp/piece_integral.h"

namespace dpledger::accountant::rdp {

// An upper bound on log Σ p^α q^{1-α} (remove; add: p and q exchanged) over the outcomes that have
// both. order > 1. At most 0 where nothing else is known of it: the moment may be below one by what
// InfiniteLoss leaves out.
double LogPairMomentUp(const Pair& pair, Direction direction, double order);

// The mass of the outcomes whose loss is infinite, rounded up: P's where q = 0 (remove), Q's where
// p = 0 (add).
double InfiniteLoss(const Pair& pair, Direction direction);

}  // namespace dpledger::accountant::rdp
