// Functions near zero without cancellation.
#pragma once

#include <cmath>

namespace dpledger::accountant {

// log(1 + u) - u, relative error a few ulp. u > -1.
inline double Log1PMinusX(double u) {
  if (std::fabs(u) > 0.25) return std::log1p(u) - u;
  double power = -u * u, sum = 0;
  for (int k = 2; std::fabs(power / k) > 1e-18 * std::fabs(sum); ++k) {
    sum += power / k;
    power *= -u;
  }
  return sum;
}

}  // namespace dpledger::accountant
