// Tuning: what releasing the best of K runs costs, for a random K. Claims and assumptions:
// selection/CLAIM.md. Functions are pure and thread safe.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "accountant/accountant.h"
#include "accountant/mechanism/trials.h"

namespace dpledger::accountant {

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
