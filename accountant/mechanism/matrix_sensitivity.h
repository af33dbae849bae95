// The squared L2 sensitivity of a linear encoder C to one record whose contributions, of norm at
// most one, may be in several steps. Proofs: mechanism/CLAIM.md, section 5.
#pragma once

#include "accountant/interval.h"
#include "accountant/mechanism/event.h"

namespace dpledger::accountant {

// `upper` bounds max ‖C u‖² over all participation patterns; `lower` is reached by one of them.
Interval SquaredSensitivity(const TreeEncoder& tree);
// In units of the first coefficient squared; exact but for rounding.
Interval SquaredSensitivity(const ToeplitzEncoder& toeplitz);

}  // namespace dpledger::accountant
