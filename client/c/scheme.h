// Sampling schemes and sum queries of the C interface as the ledger's events.
#pragma once

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "accountant/event/event.h"
#include "dpledger.h"

namespace dpledger::client::c {

// INVALID_ARGUMENT (scheme.kind, or a member that the kind has no use for and is not 0). The
// numbers' own domains are checked where the scheme is used.
absl::StatusOr<accountant::SamplingScheme> ReadScheme(const dpledger_sampling_scheme* given);

absl::StatusOr<std::vector<accountant::SumQuery>> ReadQueries(const dpledger_sum_query* given,
                                                              size_t count);
// Writes to the members that the caller's struct has. `query` must outlive what it lends.
absl::Status WriteQuery(const accountant::SumQuery& query, dpledger_sum_query* given);

}  // namespace dpledger::client::c
