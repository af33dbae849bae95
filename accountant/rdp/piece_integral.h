// Upper bounds on the Rényi moment of one density piece: ∫ p^α q^{1-α} (remove) or ∫ q^α p^{1-α}
// (add).
#pragma once

#include <limits>

#include "accountant/interval.h"
#include "accountant/pair/pair.h"

namespace dpledger::accountant::rdp {

// An upper bound on the logarithm of the moment, by Gauss-Legendre quadrature on panels, with each
// panel's error bound added. order > 1. It exceeds the moment by about 1e-14 of it plus the
// rounding of the exponents; where it is a part of a sum whose logarithm is `matters`, by that much
// of the sum.
double LogPieceMomentUp(const DensityPiece& piece, Direction direction, double order,
                        double matters = -std::numeric_limits<double>::infinity());

}  // namespace dpledger::accountant::rdp
