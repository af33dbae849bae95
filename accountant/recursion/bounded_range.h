// The profile of exponential mechanisms chosen one after the other, each with the outcomes of those
// before it in sight: by recursion over the steps, on a grid of ε. Proof: mechanism/CLAIM.md,
// section 8.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "accountant/limits.h"
#include "accountant/pair/profile_pair.h"

namespace dpledger::accountant {

// Upper bounds on δ(ε), the same in both directions, of `count` >= 1 mechanisms of bounded range
// `range` in (0, 600], however they are chosen; down to about `negligible` > 0. No points where
// that would take more than a sixth of limits.max_grid_work, or about 0.2 s.
absl::StatusOr<std::vector<ProfilePoint>> BoundedRangeProfile(double range, uint64_t count,
                                                              double negligible,
                                                              const Limits& limits);

}  // namespace dpledger::accountant
