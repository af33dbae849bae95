// The integers behind a noise multiplier: what the ledger is told of a round, and what the
// trainer's noise is.
//
// With G groups, each gets noise sigma_Z and the integer norm bound K, in units of its own grid, so
// that the whole round's multiplier (McMahan et al. 2018, eq. 1: (sum over groups of
// (K/sigma_Z)^2)^(-1/2) = sigma_Z / (K sqrt(G))) is never below the one asked for. Equal shares: a
// group's noise is proportional to its clip norm.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"

namespace dpledger::client {

struct NoisePlan {
  int64_t norm_bound;    // K: what one record can change in a group's integer sum (L2 norm). In
                         // [2^20, 2^25]
  int64_t noise_stddev;  // sigma_Z, a power of two

  // INVALID_ARGUMENT (noise_multiplier) unless `noise_multiplier` times sqrt(groups) is in [2^-10,
  // 2^20]. The comparison groups * K^2 * noise_multiplier^2 <= sigma_Z^2 holds exactly, and K is
  // the largest such.
  static absl::StatusOr<NoisePlan> For(double noise_multiplier, size_t groups);
};

}  // namespace dpledger::client
