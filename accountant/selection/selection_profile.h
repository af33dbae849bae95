// The privacy profile of releasing the best of K runs, from the profile of one run. The upper bound
// is a weighted sum of shifted profiles of one run; the lower bound is reached by one order of the
// results. Theorem, proofs and error budget: selection/CLAIM.md, section 1.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "accountant/limits.h"
#include "accountant/mechanism/trials.h"
#include "accountant/selection/run_profile.h"

namespace dpledger::accountant::selection {

class SelectionProfile {
 public:
  // One direction: the results' law on the first data set against that on the second. Below
  // `negligible_delta` the bounds may be loose. `cell` in (0, 0.2]: the upper bound is about
  // cell²/8 above, relatively. `run` must outlive this.
  static constexpr double kFineCell = 0.01;
  SelectionProfile(const TrialLaw& law, Direction direction, RunProfile& run,
                   double negligible_delta, double cell = kFineCell);

  // δ of the selection at epsilon >= 0.
  double DeltaUp(double epsilon) const;  // for every order of the results by quality
  double DeltaDown(double epsilon);      // for the worst such order

  // The greatest shift of any term: the logarithm of the greatest g(x)/g(h(x)).
  double greatest_shift() const { return terms_.empty() ? 0 : terms_.back().shift; }

 private:
  // V(R) = always + Σ weight (1 - R e^{-shift})_+.
  struct Term {
    double weight, shift;
  };
  // What one order of the results shows, at least a - e^ε b: the best is in a set with a
  // probability of at least `a`, on the other data set with one of at most `b`.
  struct Shown {
    double a, b;
  };
  // Those that show the most at some ε.
  std::vector<Shown> ShownAtPlaces() const;

  RunProfile& run_;
  Direction direction_;
  TrialLaw law_;
  double always_ = 0;
  std::vector<Term> terms_;  // shifts ascending
  double negligible_delta_;
  std::vector<Share> places_;
  std::optional<std::vector<Shown>> shown_;  // once asked for
};

// Bounds on the ε at which releasing the best of K runs is (ε, delta)-DP, over both directions, for
// the worst order of results. `least` is a known lower bound. `upper` is infinite if no bound is
// found.
absl::StatusOr<Interval> SelectionEpsilon(const TrialLaw& law, RunProfile& run, double delta,
                                          double least);

// The upper bound alone.
absl::StatusOr<double> SelectionEpsilonUp(const TrialLaw& law, RunProfile& run, double delta);

}  // namespace dpledger::accountant::selection
