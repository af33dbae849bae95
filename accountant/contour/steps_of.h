// A composition's steps in one direction, with the width of μ, as the contour uses them. Private to
// contour/.
#pragma once

#include <vector>

#include "accountant/contour/saddle.h"
#include "accountant/contour/step.h"
#include "accountant/mechanism/composition.h"

namespace dpledger::accountant::contour {

struct Widths {
  std::vector<Step> upper, lower;  // with the greatest and the least μ; the upper and lower pairs
  bool narrow;                     // `upper` serves for both: its spread covers the interval
};
Widths StepsOf(const std::vector<SampledGaussian>& steps, bool add);
// Precondition: Applies(composition) (contour.h).
Widths StepsOf(const Composition& composition, bool add);

// P(L = infinity) of all steps together.
Interval InfiniteMass(const std::vector<Step>& steps);

// The same with no width left: bounds from each end of μ's interval.
Widths EndsOfWidth(const std::vector<SampledGaussian>& steps, bool add);

// An order at which Chernoff's bound shows that ε(delta) is at most `epsilon`; 0 if the search from
// `start` finds none.
double OrderShowingBelow(Tilting& tilting, double delta, double epsilon, double start);

// Upper bounds by Chernoff's bound at the best of some orders: on ε(delta), searched from `start`,
// and on δ(epsilon). Infinite and 1 if none is found.
double EpsilonUpByChernoff(Tilting& tilting, double delta, double start);
double DeltaUpByChernoff(Tilting& tilting, double epsilon);

}  // namespace dpledger::accountant::contour
