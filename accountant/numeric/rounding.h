// Arithmetic with a stated rounding direction. Bounds are built from these functions; a bare + in a
// bound is a mistake.
//
// + - * / and sqrt are correctly rounded (IEEE 754), so one step of nextafter outward gives a
// bound. glibc's exp, expm1, log and log1p are within 2 ulp (its manual, "Errors in Math
// Functions", lists 1 for x86-64), so three steps do. Domain: finite arguments. A NaN stays NaN,
// overflow stays infinite; callers treat both as "no bound".
#pragma once

#include <cmath>
#include <limits>

namespace dpledger::accountant {

// Unit roundoff of double: fl(x op y) = (x op y)(1 + e), |e| <= kUnitRoundoff.
inline constexpr double kUnitRoundoff = 0x1p-53;

inline double NextUp(double x) {
  return std::nextafter(x, std::numeric_limits<double>::infinity());
}
inline double NextDown(double x) {
  return std::nextafter(x, -std::numeric_limits<double>::infinity());
}

inline double AddUp(double a, double b) { return NextUp(a + b); }
inline double AddDown(double a, double b) { return NextDown(a + b); }
inline double MulUp(double a, double b) { return NextUp(a * b); }
inline double MulDown(double a, double b) { return NextDown(a * b); }
inline double DivUp(double a, double b) { return NextUp(a / b); }
inline double DivDown(double a, double b) { return NextDown(a / b); }

inline double ExpUp(double x) { return NextUp(NextUp(NextUp(std::exp(x)))); }
inline double ExpDown(double x) {
  return std::fmax(0.0, NextDown(NextDown(NextDown(std::exp(x)))));
}
inline double LogUp(double x) { return NextUp(NextUp(NextUp(std::log(x)))); }
inline double LogDown(double x) { return NextDown(NextDown(NextDown(std::log(x)))); }

}  // namespace dpledger::accountant
