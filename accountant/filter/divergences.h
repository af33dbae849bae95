// The sums of Rényi divergences that mixtures of orders are made of. Private to filter/.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "accountant/limits.h"
#include "accountant/mechanism/composition.h"

namespace dpledger::accountant::filter {

// A step that has no finite divergence to count, and why.
struct Uncountable {
  std::string what;
  std::string why;
};

// R(α) >= 0 of each of these orders, the greater of both directions, rounded up; infinite where
// none is known of that order alone. An epoch counts as whole from its first round on. Uncountable
// for a step that may fail with a probability, or where no order's sum is finite. Other errors are
// those of `limits`. Precondition: !non_private.
absl::StatusOr<std::variant<std::vector<double>, Uncountable>> DivergencesAt(
    const std::vector<double>& orders, Composition composition, const Limits& limits);

}  // namespace dpledger::accountant::filter
