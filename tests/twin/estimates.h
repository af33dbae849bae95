// Moments in doubles, to choose by where lines and cuts lie. Nothing of them enters a ball:
// whatever they say, what is made with their choice contains the truth.
#pragma once

#include <functional>

#include "tests/twin/transform.h"

namespace dpledger::twin {

// Minimises f over (low, high) on a logarithmic scale.
double Minimum(const std::function<double(double)>& f, double low, double high);

// log of E[N (1+u)^power], N between two cuts.
double EstimatedMoment(const Kind& kind, const Cut& cut, double power);

// log of the integral of the integrand's moduli on Im t = b at height y of the line, without a
// lower cut; b is set to what makes it least.
double EstimatedEnvelope(const Kind& kind, const Cut& cut, double power, double y, double& b);

}  // namespace dpledger::twin
