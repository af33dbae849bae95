// The squared L2 norms of what one record, whose contributions are of norm at most one, adds to the
// messages of a linear encoder C. Proofs: mechanism/CLAIM.md, sections 5 and 9.
#pragma once

#include "accountant/event/event.h"
#include "accountant/interval.h"

namespace dpledger::accountant {

// max ‖C u‖² over all participation patterns, where that takes no more than so many `additions`,
// which are taken off; else `upper` bounds it, and `lower` is reached by one of them.
Interval SquaredSensitivity(const TreeEncoder& tree, const Participation& participation,
                            double& additions);
// In units of the first coefficient squared; exact but for rounding.
Interval SquaredSensitivity(const ToeplitzEncoder& toeplitz, const Participation& participation);

// ‖C e_step‖² for step < steps, in the same units; exact but for rounding. It does not grow with
// the step.
Interval SquaredColumn(const ToeplitzEncoder& toeplitz, uint64_t step);

}  // namespace dpledger::accountant
