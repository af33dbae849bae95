// Bracketed root finding for decreasing functions, by TOMS 748 (Boost.Math).
#pragma once

#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <utility>

namespace dpledger::accountant {

// f decreasing, f(lo) > 0 >= f(hi). Returns (a, b) inside [lo, hi] with f(a) > 0 >= f(b), both
// evaluated, and about relative_tolerance·|b| apart. If rounding makes f not quite monotone, a may
// lie above b; the signs still hold.
template <typename F>
std::pair<double, double> BracketDecreasing(F f, double lo, double hi, double relative_tolerance) {
  double positive = lo, negative = hi;
  auto seen = [&](double x) {
    const double y = f(x);
    // A NaN is neither sign.
    if (y > 0) positive = std::fmax(positive, x);
    if (y <= 0) negative = std::fmin(negative, x);
    return std::isnan(y) ? y : std::fmax(-1e300, std::fmin(1e300, y));
  };
  boost::uintmax_t evaluations = 200;
  const double at_lo = seen(lo), at_hi = seen(hi);
  if (at_lo > 0 && at_hi < 0) {
    boost::math::tools::toms748_solve(
        seen, lo, hi, at_lo, at_hi,
        [&](double a, double b) {
          return std::fabs(b - a) <= relative_tolerance * std::fmax(std::fabs(a), std::fabs(b));
        },
        evaluations);
  }
  // The search ends at once where f is exactly 0, which may leave the other side far away: probe
  // towards it. (Where f is positive at 0 alone, the step may underflow.)
  const double step = relative_tolerance * std::fmax(std::fabs(positive), std::fabs(negative));
  for (double away = step; away > 0 && negative - positive > 4 * step && away < negative - positive;
       away *= 2) {
    seen(negative - away);
    seen(positive + away);
  }
  return {positive, negative};
}

}  // namespace dpledger::accountant
