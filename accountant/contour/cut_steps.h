// Steps whose outcomes far out are cut off: those that hardly ever occur, and yet decide the
// moments of high orders. Private to contour/; CLAIM.md, "By a cut".
#pragma once

#include <optional>
#include <vector>

#include "accountant/contour/step.h"

namespace dpledger::accountant::contour {

struct CutSteps {
  std::vector<Step> steps;
  double left_out;  // δ(ε) of the uncut steps is at most this more than that of these
};
// Leaves out about 1e-9 of delta. Precondition: Gaussians.
CutSteps WithCuts(std::vector<Step> steps, double delta);

}  // namespace dpledger::accountant::contour
