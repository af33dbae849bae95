// Empirical audits: a lower bound on ε at a stated confidence, from how often an attack succeeded.
// It refutes a privacy claim whose ε is smaller. Derivations: audit/CLAIM.md.
//
// Functions are pure and thread safe.
#pragma once

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"

namespace dpledger::accountant::audit {

// One run with many canaries (Steinke, Nasr, Jagielski 2023, arXiv 2305.08846): each canary was put
// in or left out by a fair coin of its own; the auditor saw the output and guessed, for some
// canaries, which it was.
struct OneRun {
  uint64_t canaries;  // in [1, 2^53]
  uint64_t guesses;   // in [1, min(canaries, 1e9)]; the auditor abstained from the others. Decided
                      // before the coins are known
  uint64_t correct;   // at most guesses
};

// The largest ε found for which `run` refutes (ε, delta)-DP at that confidence; 0 if none. If the
// mechanism is (ε, delta)-DP, the bound exceeds ε with probability at most 1 - confidence. delta in
// [0, 1), confidence in (0, 1). INVALID_ARGUMENT naming the field.
absl::StatusOr<double> EpsilonLowerBound(const OneRun& run, double delta, double confidence);

// An upper bound on the probability that an auditor of an (epsilon, delta)-DP mechanism makes at
// least run.correct right guesses. epsilon in [0, 700].
double PValue(const OneRun& run, double epsilon, double delta);

// The same counts against a whole trade-off curve (Mahloujifar, Melis, Chaudhuri 2024, arXiv
// 2410.22235): for curves near a Gaussian's it shows about twice the ε.
//
// The most guesses it takes: its work is that many values of the curve.
inline constexpr uint64_t kGreatestCurveGuesses = 100'000;

// Whether `run` refutes that every set of outputs of probability x in [0, 1] under one of two
// neighbouring inputs has at least `least_other(x)` under the other, which must not fall as x
// grows: the inverse of 1 - f, f a trade-off curve for both directions. Refutes what is true with
// probability at most 1 - confidence. INVALID_ARGUMENT naming the field.
absl::StatusOr<bool> RefutesCurve(const OneRun& run,
                                  const std::function<double(double x)>& least_other,
                                  double confidence);

// The largest μ found for which `run` refutes that the mechanism is μ-Gaussian DP at that
// confidence; 0 if none. If the mechanism is μ-GDP, the bound exceeds μ with probability at most 1
// - confidence. INVALID_ARGUMENT naming the field.
absl::StatusOr<double> GaussianLowerBound(const OneRun& run, double confidence);

// Many runs, each with the record in or out, and a test of each output that says "in" or "out".
struct ManyRuns {
  uint64_t with_record;       // runs, in [1, 1e9]
  uint64_t detected_with;     // of these, how often the test said "in"
  uint64_t without_record;    // in [1, 1e9]
  uint64_t detected_without;  // false alarms
};

// Upper bounds on the test's error rates. Both hold together with probability at least `confidence`
// (Clopper and Pearson 1934, with error probability (1 - confidence)/2 each).
struct ErrorRateBounds {
  double type_one;  // P(says "in" | out) is at most this
  double type_two;  // P(says "out" | in) is at most this
};
absl::StatusOr<ErrorRateBounds> BoundErrorRates(const ManyRuns& runs, double confidence);

// The ε that a test with such error rates refutes: 1 - β <= e^ε α + δ and 1 - α <= e^ε β + δ for
// any (ε, δ)-DP mechanism, by definition. Rounded down; 0 if none; infinite where a rate is 0.
double EpsilonLowerBound(const ErrorRateBounds& rates, double delta);

}  // namespace dpledger::accountant::audit
