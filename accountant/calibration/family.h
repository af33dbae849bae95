// Solving for one number that a composition depends on. Every value tried is answered with a
// certified interval. The upper bound at the value returned meets the target; the optimum lies
// between that value and one whose lower bound misses the target. Claim: calibration/CLAIM.md.
#pragma once

#include <functional>
#include <optional>

#include "absl/status/statusor.h"
#include "accountant/accountant.h"

namespace dpledger::accountant {

// Compositions that depend on one positive number x, in which ε is monotone.
struct Family {
  std::function<absl::StatusOr<Composition>(double x)> at;
  double least, greatest;     // domain of x, 0 < least < greatest
  double unit = 0;            // x, least and greatest are multiples of it; 0: any real
  std::optional<bool> grows;  // whether ε grows with x; Solve finds out if unset
  double start = 1;           // a typical x, in the domain
  // The expected answer, in the domain. If unset, Solve asks Rényi DP first.
  std::optional<double> near = std::nullopt;
};

struct Solution {
  double value;
  Interval optimum;  // contains the x at which ε equals the target
  Answer epsilon;    // at `value`; a warning says so where every x meets the target
};

// The least (greatest, if ε grows) x whose ε at delta is at most epsilon, up to a share of
// relative_gap. FAILED_PRECONDITION, reason NO_SOLUTION: no x in the domain does, or ε does not
// depend on x. Errors of `at` and of the method are passed on.
absl::StatusOr<Solution> Solve(const Family& family, double epsilon, double delta,
                               const Options& options);

}  // namespace dpledger::accountant
