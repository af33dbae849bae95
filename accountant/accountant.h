// The accountant's front door: one question, several methods, one answer type.
//
// Every answer is an interval that contains the true value for the composition. Its bounds account
// for discretisation, truncation and floating-point error (each method's CLAIM.md). Functions are
// pure and thread safe.
#pragma once

#include <optional>

#include "absl/status/statusor.h"
#include "accountant/interval.h"
#include "accountant/limits.h"
#include "accountant/mechanism/composition.h"

namespace dpledger::accountant {

struct Options {
  Method method = Method::kBest;
  double relative_gap = 1e-4;  // wanted (upper - lower) / upper, in [1e-9, 1]
  Limits limits;
};

// The ε >= 0 at which the composition is (ε, delta)-DP: inf{ε : δ(ε) <= delta}. delta in [0, 1); at
// 0 it is the greatest privacy loss (mechanism/greatest_loss.h). In one direction or, without one,
// the larger of both; a method (rdp) that bounds only the larger of both answers with that bound.
// INVALID_ARGUMENT: delta or options out of domain. FAILED_PRECONDITION: the method does not apply
// to these steps.
absl::StatusOr<Answer> ComputeEpsilon(const Composition& composition, double delta,
                                      const Options& options,
                                      std::optional<Direction> direction = std::nullopt);

// δ(epsilon): the hockey-stick divergence; exactly 0 from the greatest privacy loss on. epsilon in
// [0, inf).
absl::StatusOr<Answer> ComputeDelta(const Composition& composition, double epsilon,
                                    const Options& options,
                                    std::optional<Direction> direction = std::nullopt);

}  // namespace dpledger::accountant
