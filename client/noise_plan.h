// The integers behind a noise multiplier: what the ledger is told of a round, and what the
// trainer's noise is.
//
// Each group g gets noise sigma_Z and the integer norm bound K_g, in units of its own grid, so that
// the whole round's multiplier (McMahan et al. 2018, eq. 1: (sum over groups of
// (K_g/sigma_Z)^2)^(-1/2)) is never below the one asked for. K_g is proportional to the group's
// weight: with equal weights a group's noise is proportional to its clip norm.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "client/privatizer_options.h"

namespace dpledger::client {

struct NoisePlan {
  std::vector<int64_t> norm_bounds;  // K_g: the greatest norm of a clipped vector. In [16, 2^25]
  int64_t noise_stddev;              // sigma_Z, a power of two
  int64_t sensitivity;  // what one record can change in a group's sum, in multiples of K_g

  // The group's own multiplier is z_g = sensitivity * noise_multiplier * (sum over h of (w_h /
  // w_g)^2)^(1/2). INVALID_ARGUMENT (noise_multiplier) unless all are in [2^-10, 2^20]
  // and differ by a factor of 2^16 at most.
  // sensitivity^2 * sum of K_g^2 * noise_multiplier^2 <= sigma_Z^2 holds exactly. `weights` are
  // positive and not empty.
  static absl::StatusOr<NoisePlan> For(double noise_multiplier, absl::Span<const double> weights,
                                       int64_t sensitivity = 1);

  // For the groups of `options`, and a last one for the statistic of `adaptive`. The options have
  // passed CheckOptions.
  static absl::StatusOr<NoisePlan> For(const PrivatizerOptions& options);
};

}  // namespace dpledger::client
