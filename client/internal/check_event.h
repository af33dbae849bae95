// The rules of proto/dpledger/v1/event.proto for what a recorder sends. They are checked before a
// batch is written to the spool: one that the server must refuse would block everything behind it.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "dpledger/v1/event.pb.h"

namespace dpledger::client::internal {

// INVALID_ARGUMENT naming the field, e.g. "scheme.poisson.probability: must be in (0, 1], got 2".
absl::Status CheckScheme(const v1::SamplingScheme& scheme);

// INVALID_ARGUMENT, e.g. "queries[1].noise_stddev: must be finite and > 0, got nan".
absl::Status CheckQueries(const std::vector<v1::SumQuery>& queries);

// INVALID_ARGUMENT, e.g. "mechanism.matrix_mechanism.toeplitz.coefficients[1]: must be finite and
// in [0, 1], got 2". Of the kinds that there are a recorder takes gaussian and matrix_mechanism,
// and non_private for runs in test mode.
absl::Status CheckMechanism(const v1::MechanismEvent& mechanism);

}  // namespace dpledger::client::internal
