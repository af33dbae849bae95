// The window in which the tilted law of a composed loss lies. Private to pld/.
#pragma once

#include <cmath>
#include <limits>

namespace dpledger::accountant::pld {

// Distances from the mean; infinite where no bound was found.
struct Window {
  double below = std::numeric_limits<double>::infinity();
  double above = std::numeric_limits<double>::infinity();

  double Width() const { return below + above; }
};

// Beyond it the law has at most e^{log_tail} on either side. K's growth bounds the tails
// (Chernoff): the narrowest of a few choices. `growth(s)` is K(c + s) - K(c), c the tilt, `mean` is
// K'(c), and `deviation` a scale, about sqrt(K''(c)).
template <typename Growth>
Window WindowOf(const Growth& growth, double mean, double deviation, double log_tail) {
  Window window;
  for (const double a : {0.35, 0.7, 1.4, 2.8, 5.6, 8.0, 12.0}) {
    const double s = a / deviation;
    const double up = growth(s), down = growth(-s);
    if (std::isfinite(up)) window.above = std::fmin(window.above, (up - s * mean - log_tail) / s);
    if (std::isfinite(down))
      window.below = std::fmin(window.below, (down + s * mean - log_tail) / s);
  }
  return window;
}

}  // namespace dpledger::accountant::pld
