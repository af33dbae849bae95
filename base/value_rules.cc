#include "base/value_rules.h"

#include <charconv>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/absl_view.h"

namespace dpledger::rules {
namespace {

// The shortest decimal that reads back as `value`: the user sees what was sent.
std::string Shown(double value) {
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof text, value).ptr);
}
std::string Shown(uint64_t value) { return absl::StrCat(value); }

// Every event of every append comes through here: a rule with numbers in it is put into words for
// an error only, by a function.
template <typename Rule, typename T>
absl::Status CheckWith(bool good, std::string_view field, const Rule& rule, T value) {
  if (good) return absl::OkStatus();
  return FieldError(field, absl::StrCat("must ", rule(), ", got ", Shown(value)));
}

template <typename T>
absl::Status Check(bool good, std::string_view field, std::string_view rule, T value) {
  if (good) return absl::OkStatus();
  return FieldError(field, absl::StrCat("must ", ToAbsl(rule), ", got ", Shown(value)));
}

}  // namespace

absl::Status Positive(std::string_view field, double value) { return GreaterThan(0, field, value); }
absl::Status NonNegative(std::string_view field, double value) { return AtLeast(0, field, value); }
absl::Status NonNegativeOrInfinite(std::string_view field, double value) {
  return Check(value >= 0, field, "be >= 0", value);
}
absl::Status GreaterThan(double bound, std::string_view field, double value) {
  return CheckWith(
      std::isfinite(value) && value > bound, field,
      [bound] { return absl::StrCat("be finite and > ", Shown(bound)); }, value);
}
absl::Status AtLeast(double bound, std::string_view field, double value) {
  return CheckWith(
      std::isfinite(value) && value >= bound, field,
      [bound] { return absl::StrCat("be finite and >= ", Shown(bound)); }, value);
}
absl::Status SamplingProbability(std::string_view field, double value) {
  return Check(value > 0 && value <= 1, field, "be in (0, 1]", value);
}
absl::Status Probability(std::string_view field, double value) {
  return Check(value >= 0 && value <= 1, field, "be in [0, 1]", value);
}
absl::Status WholeDouble(std::string_view field, double value) {
  const bool good =
      value >= 1 && value < static_cast<double>(kMaxWhole) && std::floor(value) == value;
  return Check(good, field, "be a whole number in [1, 2^53)", value);
}
absl::Status Must(bool good, std::string_view rule, std::string_view field, double value) {
  return Check(good, field, rule, value);
}

absl::Status WholeIn(uint64_t low, uint64_t high, std::string_view field, uint64_t value) {
  return CheckWith(
      low <= value && value <= high, field,
      [low, high] {
        return absl::StrCat("be in [", low, ", ", high == kMaxWhole ? "2^53" : Shown(high), "]");
      },
      value);
}
absl::Status Count(std::string_view field, uint64_t value) {
  return WholeIn(1, kMaxWhole, field, value);
}
absl::Status Ordinal(std::string_view field, uint64_t value) {
  return Check(value < kMaxWhole, field, "be below 2^53", value);
}

absl::Status Text(size_t low, size_t high, std::string_view field, std::string_view value) {
  return CheckWith(
      low <= value.size() && value.size() <= high, field,
      [low, high] {
        return low == 0 ? absl::StrCat("be at most ", high, " bytes long")
                        : absl::StrCat("be ", low, " to ", high, " bytes long");
      },
      uint64_t{value.size()});
}

absl::Status NotEmpty(std::string_view list, int size) {
  return size > 0 ? absl::OkStatus() : FieldError(list, "must hold at least one value");
}

absl::Status AsMany(std::string_view field, size_t size, std::string_view other, size_t others) {
  if (size == others) return absl::OkStatus();
  return FieldError(
      field, absl::StrCat("must be as many as ", ToAbsl(other), " (", others, "), got ", size));
}

std::string Element(std::string_view list, int index) {
  return absl::StrCat(ToAbsl(list), "[", index, "]");
}

}  // namespace dpledger::rules
