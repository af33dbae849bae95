// Bounds on δ(ε) of a composition in one direction, proved in balls. CLAIM.md derives each. The
// parameters come from the finder (finder.h) or from anybody: whatever they are, the bounds hold.
#pragma once

#include <vector>

#include "certify/ball.h"
#include "certify/composition.h"
#include "certify/transform.h"

namespace dpledger::certify {

// lower <= δ(ε) <= upper, for every point of both balls.
struct Bounds {
  Ball lower = 0.0;
  Ball upper = 1.0;
};

// K(r) = log E[e^{rL}; L finite] of one run.
Ball Cumulant(const Pair& pair, Direction direction, const Ball& r);
Ball Cumulant(const Curve& curve, const Ball& r);

// An order r > 0 of Chernoff's bound, with a rule for each sampled step.
struct Order {
  double r = 0;
  std::vector<Strip> rules;
};
// log of δ(ε) <= e^{K(r) - rε} r^r/(1+r)^{1+r}, without infinite losses' mass. Curves count.
Ball LogChernoff(const Composition& of, Direction direction, const Ball& epsilon,
                 const Order& order);

// The contour integral. CLAIM.md, section 1.
struct Line {
  double tilt = 0;
  double period = 0;
  long last = 0;                    // node; the first is 0
  double smoothing = 0;             // variance of a Gaussian that is added to end the line
  std::vector<Strip> rules, moved;  // of each sampled step: on the line, and for its end
  Order above, below;               // of the aliases; below.r = 0: δ <= 1 is used
};
Bounds OnLine(const Composition& of, Direction direction, const Ball& epsilon, const Line& line);

// Without a line: Gaussians alone; one sampled step alone; one run of a pair alone; pairs of few
// point masses, by all outcomes. Not finite where none of them applies.
Ball ClosedDelta(const Composition& of, Direction direction, const Ball& epsilon);

// The mass of infinite losses.
Ball InfiniteMass(const Composition& of, Direction direction);
// The least bound on all finite losses; infinite where none is known.
Ball GreatestLoss(const Composition& of, Direction direction);

}  // namespace dpledger::certify
