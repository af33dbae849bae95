// Bounds on Poisson-sampled Gaussian steps from how often a record is in the sample: for noise so
// low that each inclusion shows, and lower ends wherever other methods have none. Claim and
// derivation: gaussian/CLAIM.md, "By inclusions".
#pragma once

#include <optional>

#include "accountant/interval.h"
#include "accountant/mechanism/composition.h"

namespace dpledger::accountant::gaussian {

// `count` steps of noise multiplier 1/mu, sampled with probability q; remove direction.
struct Inclusions {
  double q, mu, count;

  // Bounds on log δ(epsilon), epsilon >= 0: -infinity and 0 where nothing is known.
  double LogDeltaDown(double epsilon) const;
  double LogDeltaUp(double epsilon) const;
  // A lower bound on ε(delta): by the test whether some output is above a threshold, at about the
  // best one; by the loss's lower tail. 0 where they show nothing.
  double EpsilonByThreshold(double delta) const;
  double EpsilonByTail(double delta) const;
};

// Contain ε(delta) and δ(epsilon), δ in (0, 1), epsilon >= 0, in the remove direction, and so does
// its upper end in the add direction. The upper end is trivial unless the composition is steps of
// one kind, of little noise.
Interval EpsilonByInclusions(const Composition& composition, double delta);
Interval DeltaByInclusions(const Composition& composition, double epsilon);

}  // namespace dpledger::accountant::gaussian
