// Tails of the standard normal distribution, with relative accuracy as far out as doubles reach and
// beyond in log form.
#pragma once

namespace dpledger::accountant {

// Every function below has a relative error of at most kNormalTailError (the logarithm: absolute
// error), tested against 40-digit values in tests/accountant.
inline constexpr double kNormalTailError = 1e-14;

// φ(x). Domain: all x; 0 beyond |x| = 38.6. Relative error grows as x²·2^-53.
double NormalDensity(double x);

// Φ(-x) = P(N > x). Domain: all x. Underflows to 0 beyond x = 38.
double NormalTail(double x);

// log Φ(-x), for every x in which x² is finite.
double LogNormalTail(double x);

// R(x) = Φ(-x)/φ(x) (Mills ratio). Domain: x > -37.
double MillsRatio(double x);

// The x with P(N > x) = p. Domain: p in (1e-300, 1). Relative error 1e-9 (a starting point, not a
// bound).
double NormalTailInverse(double p);

}  // namespace dpledger::accountant
