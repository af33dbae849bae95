// The C interface's options, schemes and queries as those of client/, every member checked that the
// C++ cannot check.
#pragma once

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "accountant/event/event.h"
#include "client/correlated_options.h"
#include "client/integer_clip.h"
#include "client/privatizer_options.h"
#include "dpledger.h"

namespace dpledger::client::c {

absl::StatusOr<PrivatizerOptions> ReadPrivatizerOptions(const dpledger_privatizer_options* given);

absl::StatusOr<CorrelatedOptions> ReadCorrelatedOptions(const dpledger_correlated_options* given);

absl::StatusOr<GradientRows> ReadRows(const dpledger_gradient_rows* given);

// INVALID_ARGUMENT (scheme.kind, or a member that the kind has no use for and is not 0). The
// numbers' own domains are checked where the scheme is used.
absl::StatusOr<accountant::SamplingScheme> ReadScheme(const dpledger_sampling_scheme* given);

absl::StatusOr<std::vector<accountant::SumQuery>> ReadQueries(const dpledger_sum_query* given,
                                                              size_t count);
// Writes to the members that the caller's struct has. `query` must outlive what it lends.
absl::Status WriteQuery(const accountant::SumQuery& query, dpledger_sum_query* given);

}  // namespace dpledger::client::c
