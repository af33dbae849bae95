// Calibration: solves for one parameter of Poisson-sampled Gaussian steps, given a target (ε, δ)
// and the other parameters. Claim: calibration/CLAIM.md. Functions are pure and thread safe.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "accountant/accountant.h"

namespace dpledger::accountant {

enum class Unknown { kNoiseMultiplier, kSteps, kSamplingProbability };

struct CalibrationTarget {
  double epsilon;  // > 0
  double delta;    // in (0, 1)
  Neighbours neighbours = Adjacency::kAddOrRemoveOne;
  // The events that the data have been through already: the target is for them and the steps
  // together.
  History spent;
};
// The value of the unknown is ignored.
struct CalibrationParameters {
  double noise_multiplier = 0;
  double sampling_probability = 0;
  uint64_t steps = 0;
};
struct Calibration {
  CalibrationParameters parameters;  // the unknown filled in: it meets the target
  Interval optimum;                  // contains the value at which ε equals the target
  Answer epsilon;  // at the solution; `upper` is below the target by a share of relative_gap
};
// FAILED_PRECONDITION (reason NO_SOLUTION) when no value of the unknown in its domain meets the
// target.
absl::StatusOr<Calibration> Calibrate(const CalibrationTarget& target,
                                      const CalibrationParameters& given, Unknown unknown,
                                      const Options& options);

}  // namespace dpledger::accountant
