// Random allocation, and one record replaced by another: rounds of a Gaussian mechanism, each
// record in one of them, drawn uniformly. The worst pair of records moves the mean by μ in opposite
// directions. With x_i ~ N(0,1) the outputs without either, r and r' the means over the rounds of
// e^{μx_i - μ²/2} and of e^{-μx_i - μ²/2}, the privacy profile is δ(ε) = E[(r - e^ε r')_+], the
// same in both directions. For each ε this is the mean of the positive part of one sum. Proof and
// error budget: allocation/CLAIM.md, sections 4 and 5.
//
// Pure functions, thread safe.
#pragma once

#include "absl/status/statusor.h"
#include "accountant/allocation/ratio_law.h"
#include "accountant/limits.h"

namespace dpledger::accountant::allocation {

// δ(ε), at most; it took as long as `products` of masses, about three nanoseconds each.
struct ReplacedAbove {
  double delta;
  double products;
};

// A test for the record's presence: it says yes with probability at least `power` with the record,
// and at most `level` with the other one in its place. So δ(x) >= power - e^x level at every x, and
// δ(ε) >= delta. All zero where nothing is known.
struct ReplacedBelow {
  double delta;
  double power, level;
  double products;
};

// `rounds.distance` is μ of one record, 1/z, not of both: rounded up above, down below. epsilon >=
// 0. mesh, tail: as of UpperLaw; of the tail about twice may be part of `delta`.
// RESOURCE_EXHAUSTED (reason QUERY_TOO_LARGE) if a round's privacy loss or ε is too large for
// doubles. DEADLINE_EXCEEDED, CANCELLED.
absl::StatusOr<ReplacedAbove> DeltaAbove(const Rounds& rounds, double epsilon, double mesh,
                                         double tail, const Limits& limits);
absl::StatusOr<ReplacedBelow> DeltaBelow(const Rounds& rounds, double epsilon, double mesh,
                                         double tail, const Limits& limits);

}  // namespace dpledger::accountant::allocation
