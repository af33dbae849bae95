// What samplers ask of the population that they draw from.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace dpledger::client::internal {

// INVALID_ARGUMENT unless the ledger can state it.
inline absl::Status CheckPopulation(uint64_t population_size) {
  if (population_size >= 1 && population_size < uint64_t{1} << 53) return absl::OkStatus();
  return FieldError("population_size", absl::StrCat("must be in [1, 2^53), got ", population_size));
}

// INVALID_ARGUMENT for more records than a list of indices is made for.
inline absl::Status CheckListed(std::string_view field, uint64_t records) {
  if (records >= 1 && records <= uint64_t{1} << 32) return absl::OkStatus();
  return FieldError(field, absl::StrCat("must be in [1, 2^32], got ", records));
}

}  // namespace dpledger::client::internal
