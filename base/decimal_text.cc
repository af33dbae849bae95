#include "base/decimal_text.h"

#include <cfenv>
#include <cstdio>

namespace dpledger {
namespace {

// The C library's printf rounds its decimal digits in the current rounding direction.
std::string Rounded(double value, int digits, int direction) {
  const int before = std::fegetround();
  std::fesetround(direction);
  char text[40];
  std::snprintf(text, sizeof text, "%.*g", digits, value);
  std::fesetround(before);
  return text;
}

}  // namespace

std::string DecimalUp(double value, int digits) { return Rounded(value, digits, FE_UPWARD); }

std::string DecimalDown(double value, int digits) { return Rounded(value, digits, FE_DOWNWARD); }

std::string DecimalNear(double value, int digits) { return Rounded(value, digits, FE_TONEAREST); }

}  // namespace dpledger
