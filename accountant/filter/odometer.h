// The privacy loss of runs that happened, of which nothing says what else they might have been:
// neither a plan that was made without looking at outputs, nor a filter that would have stopped
// them. Steps may depend on all outputs before them, those of other ledgers included, and come in
// any order. Claim: filter/CLAIM.md.
//
// Pure functions; thread safe.
#pragma once

#include "absl/status/statusor.h"
#include "accountant/interval.h"
#include "accountant/limits.h"
#include "accountant/mechanism/composition.h"

namespace dpledger::accountant::filter {

// The orders of the mixture, all of one weight. They and the weights may not depend on outputs, and
// nobody declares them for several ledgers together: so they are fixed here, for every question.
// The eight that clients declare for filters, and four great ones for small totals: a Gaussian of
// noise multiplier 50 costs .11 at a delta of 1e-5, and .60 by the eight; where the eight fit, the
// twelve cost at most 2 % more.
inline constexpr double kOdometerOrders[] = {2, 3, 4, 5, 6, 8, 12, 24, 48, 96, 192, 384};

// For a delta in [0, 1) that was chosen without looking at outputs: with a probability of at least
// 1 - delta over the run's own outputs, at all times, the logarithm of the ratio of the outputs'
// probabilities on the two data sets is at most `value.upper`. Rounded up; `value.lower` is 0,
// because nothing is proved from below. If every step's loss is bounded, `value.upper` is also at
// most the sum of these bounds. It holds whichever of two neighbours is the data set. It is no (ε,
// δ)-DP: the claim says what follows from it.
//
// INVALID_ARGUMENT for delta or epsilon out of its domain; FAILED_PRECONDITION (reason
// ODOMETER_CANNOT_COUNT, naming the step) for a step that may fail with a probability, or without a
// finite divergence of any of the orders.
absl::StatusOr<Answer> OdometerEpsilon(const Composition& composition, double delta,
                                       const Limits& limits);
// The least delta whose OdometerEpsilon is at most epsilon, in [0, 1]; epsilon is finite, >= 0 and
// chosen without looking at outputs.
absl::StatusOr<Answer> OdometerDelta(const Composition& composition, double epsilon,
                                     const Limits& limits);

}  // namespace dpledger::accountant::filter
