// Checks from which rules for values are built. Each function checks one value; its error names the
// field, the rule and the value: "noise_stddev: must be finite and > 0, got -1" (base/status.h,
// FieldError).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/status.h"

namespace dpledger::rules {

// The greatest whole number that counts may have: up to here all are exact as doubles, which
// accounting computes with.
inline constexpr uint64_t kMaxWhole = uint64_t{1} << 53;

// ---- Real numbers; NaN and, unless said otherwise, infinity are refused ----

absl::Status Positive(std::string_view field, double value);
absl::Status NonNegative(std::string_view field, double value);
absl::Status NonNegativeOrInfinite(std::string_view field, double value);
absl::Status GreaterThan(double bound, std::string_view field, double value);
absl::Status AtLeast(double bound, std::string_view field, double value);
absl::Status SamplingProbability(std::string_view field, double value);  // (0, 1]
absl::Status Probability(std::string_view field, double value);          // [0, 1]
absl::Status WholeDouble(std::string_view field, double value);  // a whole number in [1, 2^53)

// Any other rule. The error, unless `good`, is "<field>: must <rule>, got <value>".
absl::Status Must(bool good, std::string_view rule, std::string_view field, double value);

// ---- Whole numbers ----

absl::Status WholeIn(uint64_t low, uint64_t high, std::string_view field, uint64_t value);
absl::Status Count(std::string_view field, uint64_t value);    // [1, 2^53]
absl::Status Ordinal(std::string_view field, uint64_t value);  // [0, 2^53)

// ---- Anything else ----

// Length in bytes.
absl::Status Text(size_t low, size_t high, std::string_view field, std::string_view value);
absl::Status NotEmpty(std::string_view list, int size);
// `field` has as many elements as the list `other`.
absl::Status AsMany(std::string_view field, size_t size, std::string_view other, size_t others);

// ---- Paths: puts the part's name before the field in the error of a part's check ----

inline absl::Status Within(std::string_view part, const absl::Status& status) {
  return status.ok() ? status : PrefixField(part, status);
}
template <typename T>
absl::StatusOr<T> Within(std::string_view part, absl::StatusOr<T> result) {
  if (result.ok()) return result;
  return PrefixField(part, result.status());
}
// "queries[3]"
std::string Element(std::string_view list, int index);

}  // namespace dpledger::rules
