// The checker's balls (certify/ball.h) with what only the second accountant needs of them: ends as
// doubles, intervals, and more functions. Nothing of the accountant's own arithmetic.
#pragma once

#include <string>

#include "certify/ball.h"

namespace dpledger::twin {

using namespace certify;

// All of [low, high].
inline Ball Between(double low, double high) {
  Ball result;
  arb_union(result.get(), Ball(low).get(), Ball(high).get(), bits);
  return result;
}

// The nearest double that is not above the ball.
inline double Lower(const Ball& a) { return arf_get_d(arb_midref(a.Least().get()), ARF_RND_FLOOR); }
inline double Upper(const Ball& a) {
  return arf_get_d(arb_midref(a.Greatest().get()), ARF_RND_CEIL);
}

inline Ball Power(const Ball& a, const Ball& b) {
  Ball result;
  arb_pow(result.get(), a.get(), b.get(), bits);
  return result;
}
// The angle of b + ia.
inline Ball Angle(const Ball& a, const Ball& b) {
  Ball result;
  arb_atan2(result.get(), a.get(), b.get(), bits);
  return result;
}
inline Ball Sin(const Ball& a) {
  Ball result;
  arb_sin(result.get(), a.get(), bits);
  return result;
}

inline Complex ExpM1(const Complex& z) {
  Complex result;
  acb_expm1(result.get(), z.get(), bits);
  return result;
}

inline std::string ToString(const Ball& a) {
  char* text = arb_get_str(a.get(), 25, 0);
  std::string result = text;
  flint_free(text);
  return result;
}

}  // namespace dpledger::twin
