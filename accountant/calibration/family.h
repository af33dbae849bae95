// Solving for one number that a composition depends on. Every value tried is answered by a
// certified interval, so the value returned is one whose upper bound was seen to meet the target,
// and the optimum lies between it and one whose lower bound was seen to miss it. Claim:
// calibration/CLAIM.md.
#pragma once

#include <functional>
#include <optional>

#include "absl/status/statusor.h"
#include "accountant/accountant.h"

namespace dpledger::accountant {

// Compositions by one positive number x, along which ε falls or grows.
struct Family {
  std::function<absl::StatusOr<Composition>(double x)> at;
  double least, greatest;     // domain of x, 0 < least < greatest
  double unit = 0;            // x is a multiple of it (and so are the ends); 0: any real
  std::optional<bool> grows;  // ε with x; found out where it is not stated
  double start = 1;           // a usual value, in the domain
  // Where the answer is expected, in the domain; without it Rényi DP is asked first.
  std::optional<double> near = std::nullopt;
};

struct Solution {
  double value;
  Interval optimum;  // contains the x at which ε equals the target
  Answer epsilon;    // at `value`
};

// The least (greatest, if ε grows) x whose ε at delta is at most epsilon, up to a share of
// relative_gap. FAILED_PRECONDITION, reason NO_SOLUTION: no x in the domain does, or ε does not
// depend on x. Errors of `at` and of the method are passed on.
absl::StatusOr<Solution> Solve(const Family& family, double epsilon, double delta,
                               const Options& options);

}  // namespace dpledger::accountant
