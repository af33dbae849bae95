// What a training run with correlated noise (DP-FTRL) clips, how its noise is correlated, and how
// often a record may take part: docs/strategies/dp-ftrl.md.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "client/noise_plan.h"
#include "client/privatizer_options.h"
#include "dpledger/v1/event.pb.h"

namespace dpledger::client {

// The sum over every complete dyadic interval of the steps gets noise of its own (Kairouz et al.
// 2021); sums of steps are estimated from them as well as can be (Honaker 2015, from below).
struct TreeAggregation {};

// Step t sends c_0 S_t + c_1 S_{t-1} + ... + c_{b-1} S_{t-b+1} plus noise, for the steps' sums S
// (Choquette-Choo et al. 2023).
struct BandedToeplitz {
  // c: the first is 1, none is above the one before it or below 0; 1 to as many as steps. Each is
  // rounded to a multiple of 2^-10.
  std::vector<double> coefficients;
};

struct CorrelatedOptions {
  // Of each step's sum, with any groups, scales or microbatches, but no adaptive clip norm.
  // noise_multiplier is the standard deviation of a message's noise, over what one record can
  // change in one step's sum; what the run costs is `mechanism` below.
  PrivatizerOptions sums;
  // Of the whole run, which may end early but not go on longer. With coefficients [1, 65536].
  uint64_t steps = 0;
  // A promise of the trainer's: how many steps a record contributes to, in [1, 1024], and how far
  // apart any two of them are at least (1: consecutive ones).
  uint64_t max_participations = 1;
  uint64_t min_separation = 1;
  std::variant<TreeAggregation, BandedToeplitz> encoder;
};

// INVALID_ARGUMENT names the first option out of its domain, save those of `sums` that
// ClippedSum::Create checks.
absl::Status CheckOptions(const CorrelatedOptions& options);

// Coefficients are multiples of 2^-kCoefficientBits.
inline constexpr int kCoefficientBits = 10;
// a_j = c_j 2^kCoefficientBits, rounded, without zeros at the end. The options have passed
// CheckOptions.
std::vector<uint32_t> IntegerCoefficients(const BandedToeplitz& encoder);

// What a message is in multiples of, in shares of the sums' unit; and so its noise.
uint64_t MessageScale(const CorrelatedOptions& options);

// What the ledger is told of the run. An unsampled Gaussian mechanism costs as much, whose
// multiplier is noise_stddev over the sensitivity that the accountant works out for the encoder.
v1::MatrixMechanism MechanismOf(const CorrelatedOptions& options);

}  // namespace dpledger::client
