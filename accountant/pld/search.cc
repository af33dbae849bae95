#include "accountant/pld/search.h"

#include <algorithm>
#include <cmath>

namespace dpledger::accountant::pld {

double FallsBelow(const std::function<double(double)>& excess, double guess, double slope,
                  double tolerance, double limit) {
  double positive = 0, falls = limit;
  if (excess(0) <= 0) return 0;
  double at = std::clamp(guess, 0.0, limit), before = 0, before_value = 0;
  for (int i = 0; i < 100 && falls - positive > tolerance; ++i) {
    const double value = excess(at);
    if (value <= 0) {
      falls = std::fmin(falls, at);
    } else if (value > 0) {
      positive = std::fmax(positive, at);
    } else {
      return falls;  // not a number
    }
    if (i > 0 && at != before && std::isfinite(value) && std::isfinite(before_value)) {
      const double secant = (value - before_value) / (at - before);
      if (secant < 0) slope = secant;
    }
    before = at;
    before_value = value;
    // A little past the root, so that the bracket closes from both sides.
    double next = at - value / slope + (value > 0 ? 0.4 : -0.4) * tolerance;
    if (!(next > positive && next < falls)) {
      next = std::isfinite(falls) ? positive + (falls - positive) / 2 : 2 * at + 1;
    }
    if (i % 8 == 7 && std::isfinite(falls)) next = positive + (falls - positive) / 2;
    at = next;
  }
  return falls;
}

double HoldsBelow(const std::function<bool(double)>& surely, double top, double tolerance) {
  double above = top, holds = 0;
  bool found = false;
  for (double down = 0.1 * tolerance; above > 0 && !found; down *= 4) {
    const double at = std::fmax(0, top - down);
    found = surely(at);
    (found ? holds : above) = at;
  }
  if (!found) return 0;
  for (int i = 0; i < 40 && above - holds > 0.01 * tolerance; ++i) {
    const double at = holds + (above - holds) / 2;
    (surely(at) ? holds : above) = at;
  }
  return holds;
}

}  // namespace dpledger::accountant::pld
