// Elementary functions over arrays, on the widest vector registers of the machine. Every machine
// gives the same bits: only correctly rounded + - * / in a fixed order. Error bounds are tested
// against MPFR on every target (tests/accountant/vector_math_test.cc).
//
// For every function: `out` has at least x's size; it may be x itself but may not overlap it
// otherwise. No alignment is needed. NaN gives NaN. Thread safe.
#pragma once

#include <span>

namespace dpledger::accountant {

// Errors in units in the last place of the exact result (below the normal range: of the least
// normal number).
inline constexpr double kExpUlps = 1.5;
inline constexpr double kExpM1Ulps = 2;
inline constexpr double kLogUlps = 1.5;
inline constexpr double kLog1PUlps = 2;
inline constexpr double kSinCosUlps = 3;
inline constexpr double kAtan2Ulps = 2;

// e^x. All x: 0 far below, +∞ from 709.79 on.
void Exp(std::span<const double> x, std::span<double> out);
// e^x - 1. All x. The sign of zero is not kept.
void ExpM1(std::span<const double> x, std::span<double> out);
// log x. -∞ at 0, NaN below.
void Log(std::span<const double> x, std::span<double> out);
// log(1 + x). -∞ at -1, NaN below. The sign of zero is not kept.
void Log1P(std::span<const double> x, std::span<double> out);
// sin x and cos x, |x| <= 1e6; no bound beyond.
void SinCos(std::span<const double> x, std::span<double> sine, std::span<double> cosine);
// The angle of the point (x, y), in [-π, π]; 0 at the origin. |x|, |y| < 1e300, and neither
// subnormal.
void Atan2(std::span<const double> y, std::span<const double> x, std::span<double> out);

}  // namespace dpledger::accountant
