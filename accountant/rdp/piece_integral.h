// The Rényi moment of one density piece: ∫ p^α q^{1-α} or ∫ q^α p^{1-α}, from above.
#pragma once

#include "accountant/mechanism/pair.h"

namespace dpledger::accountant::rdp {

// Whose power is α: the other's is 1 - α.
enum class Direction { kRemove, kAdd };

// An upper bound on the logarithm of the moment, by Gauss-Legendre panels with the error bound of
// each added. order > 1. Excess about 1e-14 of the moment and what rounding the exponents costs.
double LogPieceMomentUp(const DensityPiece& piece, Direction direction, double order);

}  // namespace dpledger::accountant::rdp
