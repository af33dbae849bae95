// What a training run with correlated noise (DP-FTRL) clips, how its noise is correlated, and how
// often a record may take part: docs/strategies/dp-ftrl.md.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/noise_plan.h"
#include "client/privatizer_options.h"

namespace dpledger::v1 {
class MatrixMechanism;
class MechanismEvent;
}  // namespace dpledger::v1

namespace dpledger::client {

// The sum over every complete dyadic interval of the steps gets noise of its own (Kairouz et al.
// 2021); sums of steps are estimated from them as well as can be (Honaker 2015, from below).
struct TreeAggregation {};

// Step t sends c_0 S_t + c_1 S_{t-1} + ... + c_{b-1} S_{t-b+1} plus noise, for the steps' sums S
// (Choquette-Choo et al. 2023).
struct BandedToeplitz {
  // c: the first is 1, none is above the one before it or below 0; 1 to as many as steps, and to
  // kMaxCoefficients. Each is rounded to a multiple of 2^-10.
  std::vector<double> coefficients;
};

// The same with c_0 = 1 and c_j = sum over i of weights[i] decays[i]^(j-1) for all steps (BLT;
// McMahan, Xu, Zhang 2024: omega and theta). No more than kMaxCoefficients steps.
struct BufferedToeplitz {
  std::vector<double> weights;  // 1 to 16; >= 0, at most 1 together. Rounded down to 2^-16
  std::vector<double> decays;   // as many; in [0, 1 - 2^-13]. Rounded to 2^-16
};

// Each record is in one of `period` groups for the whole run. Group g may take part in the steps
// g, g + period, ... (from 0) alone, and in each of them every record of it does with
// `probability`. So a step has population_size·probability/period records on average.
struct CyclicPoissonSampling {
  uint64_t population_size = 0;  // in [1, 2^32]; a public constant
  uint64_t period = 1;           // in [1, steps], at least the encoder's number of coefficients
  double probability = 1;        // in (0, 1]
  // Each record's group is drawn without regard to the others, so that the ledger may declare
  // ADD_OR_REMOVE_ONE; else groups are consecutive records, of nearly equal size.
  bool draw_groups = false;
};

// Each record is in one of `bins` bins for the whole run, drawn uniformly; bin i takes part in the
// steps i, i + bins, ...
struct BallsInBinsSampling {
  uint64_t population_size = 0;  // in [1, 2^32]; a public constant
  uint64_t bins = 1;             // in [1, steps]
};

// monostate: the trainer keeps a promise on how often a record takes part, and draws nothing.
using RunSampling = std::variant<std::monostate, CyclicPoissonSampling, BallsInBinsSampling>;

// More would not fit into one entry of a ledger, of 64 KiB.
inline constexpr uint64_t kMaxCoefficients = 8000;

struct CorrelatedOptions {
  // Of each step's sum, with any groups, scales or microbatches, but no adaptive clip norm.
  // noise_multiplier is the standard deviation of a message's noise, over what one record can
  // change in one step's sum; what the run costs is `mechanism` below.
  PrivatizerOptions sums;
  // Of the whole run, which may end early but not go on longer. With a band in [1, 65536].
  uint64_t steps = 0;
  // A promise of the trainer's: how many steps a record contributes to, in [1, 1024], and how far
  // apart any two of them are at least (1: consecutive ones). Both 1 where the run draws its
  // records.
  uint64_t max_participations = 1;
  uint64_t min_separation = 1;
  // Cyclic Poisson sampling needs a BandedToeplitz; balls in bins go with every encoder, a tree of
  // at most 65536 steps and 2048 bins.
  RunSampling sampling;
  std::variant<TreeAggregation, BandedToeplitz, BufferedToeplitz> encoder;
};

// INVALID_ARGUMENT names the first option out of its domain, save those of `sums` that
// ClippedSum::Create checks.
absl::Status CheckOptions(const CorrelatedOptions& options);

// Messages of Toeplitz encoders are in shares of 2^-kCoefficientBits of the sums' unit, a tree's in
// that unit; and so is their noise.
inline constexpr int kCoefficientBits = 10;
int MessageBits(const CorrelatedOptions& options);

// a_j = c_j 2^kCoefficientBits, rounded, without zeros at the end. The options have passed
// CheckOptions.
std::vector<uint32_t> IntegerCoefficients(const BandedToeplitz& encoder);

// What the ledger is told of the messages; `plan` is that of the sums. Without sampling an
// unsampled Gaussian mechanism costs as much, whose multiplier is noise_stddev over the sensitivity
// that the accountant works out for the encoder. noise_stddev is the noise multiplier, but for
// BufferedToeplitz, where it is less by what rounding can do: INVALID_ARGUMENT if that is more than
// a hundredth.
absl::StatusOr<v1::MatrixMechanism> MechanismOf(const CorrelatedOptions& options,
                                                const NoisePlan& plan);

// The event of the whole run: that mechanism, for BufferedToeplitz in bins with the Gaussian
// mechanism beside it that stands for what rounding does to pairs of bins.
absl::StatusOr<v1::MechanismEvent> EventOf(const CorrelatedOptions& options, const NoisePlan& plan);

}  // namespace dpledger::client
