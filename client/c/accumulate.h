// Gradients and sums from C callers, for whatever adds them up: a privatizer, a run with correlated
// noise, a rank's sum.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "base/status.h"
#include "client/c/error.h"
#include "client/c/options.h"
#include "dpledger.h"

namespace dpledger::client::c {

template <typename Sums>
absl::Status AddRows(Sums& sums, const dpledger_gradient_rows* rows) {
  ASSIGN_OR_RETURN(const GradientRows read, ReadRows(rows));
  return sums.Accumulate(read);
}

template <typename Sums>
absl::Status AddRowsWithNorms(Sums& sums, const dpledger_gradient_rows* rows, const double* norms,
                              size_t norm_count) {
  ASSIGN_OR_RETURN(const GradientRows read, ReadRows(rows));
  if (norm_count > 0) RETURN_IF_ERROR(CheckGiven(norms, "norms"));
  return sums.Accumulate(read, absl::MakeSpan(norms, norm_count));
}

template <typename Sums>
absl::Status AddSums(Sums& sums, const int64_t* values, size_t count) {
  RETURN_IF_ERROR(CheckGiven(values, "sums"));
  return sums.AddSums(absl::MakeSpan(values, count));
}

// INVALID_ARGUMENT unless `values` is a buffer of as many coordinates as `sums` has.
template <typename Sums>
absl::Status CheckBuffer(const Sums& sums, const float* values, size_t count) {
  RETURN_IF_ERROR(CheckGiven(values, "values"));
  return CheckCount(sums.dimension(), count);
}

}  // namespace dpledger::client::c
