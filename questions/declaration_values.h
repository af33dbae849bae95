// What a declaration says, as values.
#pragma once

#include "absl/status/statusor.h"
#include "accountant/filter/filter.h"
#include "accountant/interval.h"
#include "dpledger/v1/ledger.pb.h"

namespace dpledger::questions {

// INVALID_ARGUMENT naming `declaration.filter` if no kind is set.
absl::StatusOr<accountant::filter::Filter> FilterFromProto(const v1::Filter& filter);

// INVALID_ARGUMENT for UNSPECIFIED.
absl::StatusOr<accountant::Adjacency> AdjacencyFromProto(v1::Adjacency adjacency);

}  // namespace dpledger::questions
