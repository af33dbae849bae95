#include "cli/number_text.h"

#include <charconv>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/decimal_text.h"

namespace dpledger::cli {
namespace {

constexpr int kDigits = 7;

}  // namespace

std::string TextUp(double value) { return DecimalUp(value, kDigits); }

std::string TextDown(double value) { return DecimalDown(value, kDigits); }

std::string TextNear(double value) { return DecimalNear(value, kDigits); }

std::string ExactText(double value) {
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof text, value).ptr);
}

std::string IntervalText(const v1::Interval& interval) {
  return absl::StrCat("[", TextDown(interval.lower()), ", ", TextUp(interval.upper()), "]");
}

}  // namespace dpledger::cli
