// The privacy loss of a sampled mechanism, from that of its base mechanism; shared by all methods.
#pragma once

#include <cmath>

namespace dpledger::accountant {

// log(1 - q + q e^y): the loss of the mixture where the base mechanism's loss is y. q in (0, 1];
// any finite y. Relative error: a few ulp of the result and the effect of y's rounding. Near the
// lower end log(1 - q) the two terms are added, not subtracted; e^y is factored out of the
// logarithm only where q e^y > e.
inline double SampledLoss(double q, double y) {
  if (q == 1) return y;
  if (y > 50 && y > 1 - std::log(q))
    return std::log(q) + y + std::log1p((1 - q) / q * std::exp(-y));
  const double u = q * std::expm1(y);
  return u > -0.5 ? std::log1p(u) : std::log((1 - q) + q * std::exp(y));
}

}  // namespace dpledger::accountant
