// Gaussian mechanisms in long double, by formulas that share nothing with the accountant's: the
// truth that its bounds are held against, 2000 times finer than their own rounding.
#pragma once

#include <cmath>
#include <complex>

namespace dpledger::accountant::exact {

using Real = long double;
using Complex = std::complex<long double>;

inline Real NormalTail(Real x) { return std::erfc(x / std::sqrt(2.0L)) / 2; }

// δ(ε) of one Poisson-sampled step: the outcomes whose loss exceeds ε are a half line.
inline Real RemoveDelta(Real q, Real mu, Real epsilon) {
  const Real t = std::log1p(std::expm1(epsilon) / q) / mu + mu / 2;
  return q * NormalTail(t - mu) - (std::expm1(epsilon) + q) * NormalTail(t);
}
inline Real AddDelta(Real q, Real mu, Real epsilon) {
  const Real ratio = std::expm1(-epsilon) / q;  // e^{-ε} = 1 + q·ratio
  if (ratio <= -1) return 0;
  const Real t = std::log1p(ratio) / mu + mu / 2;
  return (1 - std::exp(epsilon) * (1 - q)) * NormalTail(-t) -
         std::exp(epsilon) * q * NormalTail(mu - t);
}

// log(1 - q + q e^{μt - μ²/2}).
inline Real Loss(Real q, Real mu, Real t) {
  const Real v = mu * t - mu * mu / 2, u = q * std::expm1(v);
  return u > -0.5L ? std::log1p(u) : std::log((1 - q) + q * std::exp(v));
}

// A(w) = E[(1 - q + q e^{μt - μ²/2})^w], t standard normal, over e^{shift}; by the trapezoidal
// rule on a line that is far longer and nodes that are far denser than A needs.
inline Complex Moment(Real q, Real mu, Complex w, Real shift = 0) {
  constexpr Real kStep = 1.0L / 64, kReach = 16;
  const Real power = w.real(), low = std::fmin(0.0L, power * mu * q) - kReach,
             high = std::fmax(1.0L, power) * mu + kReach;
  Complex sum = 0;
  for (Real i = std::floor(low / kStep); i * kStep < high; ++i) {
    const Real t = i * kStep;
    sum += std::exp(w * Loss(q, mu, t) - t * t / 2 - shift);
  }
  return sum * kStep / std::sqrt(2 * std::acos(-1.0L));
}

// log A(order) for a real order > 1 and mu <= 9, however great.
inline Real LogMoment(Real q, Real mu, Real order) {
  constexpr Real kStep = 1.0L / 16, kReach = 16;
  const Real peak = order * Loss(q, mu, order * mu) - order * mu * order * mu / 2;
  const Real shift = std::fmax(0.0L, peak);
  Real sum = 0;
  for (Real i = -kReach / kStep; i * kStep < order * mu + kReach; ++i) {
    const Real t = i * kStep;
    sum += std::exp(order * Loss(q, mu, t) - t * t / 2 - shift);
  }
  return shift + std::log(sum * kStep / std::sqrt(2 * std::acos(-1.0L)));
}

}  // namespace dpledger::accountant::exact
