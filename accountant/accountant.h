// The accountant's front door: one question, several methods, one answer type.
//
// Every answer is an interval that contains the true value for what the composition describes;
// discretisation, truncation and floating-point error are inside it (each method's CLAIM.md).
// Functions are pure and thread safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "accountant/interval.h"
#include "accountant/limits.h"
#include "accountant/mechanism/composition.h"

namespace dpledger::accountant {

struct Options {
  Method method = Method::kBest;
  double relative_gap = 1e-4;  // wanted (upper - lower) / upper, in [1e-9, 1]
  Limits limits;
};

// The ε >= 0 at which the composition is (ε, delta)-DP: inf{ε : δ(ε) <= delta}. delta in (0, 1).
// INVALID_ARGUMENT: delta or options out of domain. FAILED_PRECONDITION: the method does not apply
// to these steps.
absl::StatusOr<Answer> ComputeEpsilon(const Composition& composition, double delta,
                                      const Options& options);

// δ(epsilon), the hockey-stick divergence; the larger of both directions. epsilon in [0, inf).
absl::StatusOr<Answer> ComputeDelta(const Composition& composition, double epsilon,
                                    const Options& options);

// The same for one direction alone. Where a method knows a bound for both directions only, that
// bound is the answer (rdp).
absl::StatusOr<Answer> ComputeEpsilonIn(Direction direction, const Composition& composition,
                                        double delta, const Options& options);
absl::StatusOr<Answer> ComputeDeltaIn(Direction direction, const Composition& composition,
                                      double epsilon, const Options& options);

// ---- Calibration: any one parameter of Poisson-sampled Gaussian steps ----

enum class Unknown { kNoiseMultiplier, kSteps, kSamplingProbability };

struct CalibrationTarget {
  double epsilon;  // > 0
  double delta;    // in (0, 1)
  Neighbours neighbours = Adjacency::kAddOrRemoveOne;
};
// The one solved for is ignored.
struct CalibrationParameters {
  double noise_multiplier = 0;
  double sampling_probability = 0;
  uint64_t steps = 0;
};
struct Calibration {
  CalibrationParameters parameters;  // the unknown filled in, on the safe side
  Interval optimum;                  // contains the value at which ε equals the target
  Answer epsilon;  // at the solution; its upper is below the target by a share of relative_gap
};
// FAILED_PRECONDITION (reason NO_SOLUTION) when no value of the unknown in its domain meets the
// target.
absl::StatusOr<Calibration> Calibrate(const CalibrationTarget& target,
                                      const CalibrationParameters& given, Unknown unknown,
                                      const Options& options);

// ---- Tuning: the best of K runs, K random ----

struct NegativeBinomialTrials {
  double eta;   // > -1; 0 logarithmic, 1 geometric
  double mean;  // in (1, 1e15]
};
struct PoissonTrials {
  double mean;  // in (0, 1e15]
};
struct FixedTrials {
  uint64_t count;  // in [1, 2^53]
};
struct BinomialTrials {
  uint64_t trials;     // in [1, 2^53]
  double probability;  // in (0, 1]
};
// Whichever of the others costs least for this mean, among those that make at most one run (no
// search) with at most this probability: without such a limit the cheapest way to a mean is nearly
// always one run, and hardly ever very many.
struct LeastCostTrials {
  double mean;                           // in (1, 1e15]
  double at_most_one_probability = 0.5;  // in (0, 1]
};
using Trials = std::variant<NegativeBinomialTrials, PoissonTrials, FixedTrials, BinomialTrials,
                            LeastCostTrials>;

// One analysis of a selection and what it shows.
struct TuningAnalysis {
  std::string name;  // "profile", "rdp", "composition"
  Interval epsilon;
};
struct TuningCost {
  Answer epsilon;        // of releasing the best run: the least of all analyses
  std::string analysis;  // the one whose upper bound that is
  std::vector<TuningAnalysis> analyses;
  Answer single_run;               // of one run
  Trials trials;                   // as asked; for LeastCostTrials the ones found
  std::optional<double> gamma;     // negative binomial: its γ
  double at_most_one_probability;  // of making at most one run
};
// FAILED_PRECONDITION (reason NO_SOLUTION) when no trials with the wanted mean meet
// at_most_one_probability. The lower bound is that of the worst quality score. With method kRdp, by
// rdp alone.
absl::StatusOr<TuningCost> ComputeTuningCost(const Composition& single_run, double delta,
                                             const Trials& trials, const Options& options);

}  // namespace dpledger::accountant
