// Hyperparameter tuning: the privacy cost of releasing the best of K runs, for a random K. Claims
// and assumptions: selection/CLAIM.md. Functions are pure and thread safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "accountant/accountant.h"
#include "accountant/mechanism/trials.h"

namespace dpledger::accountant {

// One analysis of the selection and its bounds.
struct TuningAnalysis {
  std::string name;  // "profile", "rdp", "composition"
  Interval epsilon;
};
struct TuningCost {
  Answer epsilon;        // of releasing the best run: the least of all analyses' bounds
  std::string analysis;  // the analysis that gave the upper bound
  std::vector<TuningAnalysis> analyses;
  Answer single_run;               // of one run
  Trials trials;                   // as asked; for LeastCostTrials the distribution found
  std::optional<double> gamma;     // negative binomial: its γ
  double at_most_one_probability;  // of making at most one run
};
// FAILED_PRECONDITION (reason NO_SOLUTION) when no trials with the wanted mean meet
// at_most_one_probability. The lower bound is for the worst quality score. With method kRdp all
// analyses use Rényi DP alone.
absl::StatusOr<TuningCost> ComputeTuningCost(const Composition& single_run, double delta,
                                             const Trials& trials, const Options& options);

}  // namespace dpledger::accountant
