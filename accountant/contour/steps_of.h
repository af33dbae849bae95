// A composition as the contour sees it: its steps in one direction, with the width of μ. Private to
// contour/.
#pragma once

#include <vector>

#include "accountant/contour/saddle.h"
#include "accountant/contour/step.h"
#include "accountant/mechanism/composition.h"

namespace dpledger::accountant::contour {

struct Widths {
  std::vector<Step> upper, lower;  // with the greatest and the least μ
  bool narrow;                     // `upper` serves for both: its spread covers the interval
};
Widths StepsOf(const std::vector<SampledGaussian>& steps, bool add);

// At least the greatest loss in the add direction, -Σ T log(1-q): ε is no more, at any δ.
double GreatestAddLossUp(const std::vector<SampledGaussian>& steps);

// An order at which Chernoff's bound shows that ε(delta) is at most `epsilon`; 0 if none is found
// from `start`.
double OrderShowingBelow(Tilting& tilting, double delta, double epsilon, double start);
// Whether it does at c, where K(c) <= log_mgf.
bool ChernoffShowsBelow(double log_mgf, double c, double delta, double epsilon);

}  // namespace dpledger::accountant::contour
