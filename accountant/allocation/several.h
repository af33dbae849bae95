// Random allocation with several contributions: a record is in k of t rounds of a Gaussian
// mechanism, all sets of k rounds alike. Under Q, the law without the record, the ratio is
// r = e_k(r_1, ..., r_t)/C(t, k), e_k the elementary symmetric polynomial. Below it are the laws of
// its conditional means over partitions of the outcomes. Proof and error budget: CLAIM.md,
// section 6.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "accountant/allocation/ratio_law.h"
#include "accountant/limits.h"

namespace dpledger::accountant::allocation {

// Parts of the outcomes: each one's probability with the record and without.
struct Partition {
  std::vector<double> p, q;
  double relative_error = 0;  // of every p and q
};

// Empty where rounding would take a part in 10^3 of the masses, or more than 32 contributions.
// `rounds` as of LowerLaw, none missing; 1 < contributions < rounds. mesh in (0, 1]: the width of a
// part, as a share of the loss's spread. tail: what may be left out. Errors as of LowerLaw.
absl::StatusOr<Partition> LowerPartition(const Rounds& rounds, uint64_t contributions, double mesh,
                                         double tail, const Limits& limits);

}  // namespace dpledger::accountant::allocation
