#include "cli/number_text.h"

#include <cfenv>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "absl/strings/str_cat.h"

namespace dpledger::cli {
namespace {

// The C library's printf rounds its decimal digits in the current rounding direction.
std::string TextRounded(double value, int direction) {
  const int before = std::fegetround();
  std::fesetround(direction);
  char text[32];
  std::snprintf(text, sizeof text, "%.7g", value);
  std::fesetround(before);
  return text;
}

}  // namespace

std::string TextUp(double value) { return TextRounded(value, FE_UPWARD); }

std::string TextDown(double value) { return TextRounded(value, FE_DOWNWARD); }

std::string TextNear(double value) { return TextRounded(value, FE_TONEAREST); }

std::string ExactText(double value) {
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof text, value).ptr);
}

std::string IntervalText(const v1::Interval& interval) {
  return absl::StrCat("[", TextDown(interval.lower()), ", ", TextUp(interval.upper()), "]");
}

}  // namespace dpledger::cli
