// Converts a history to the run-length table that a store keeps (proto/dpledger/v1/stored.proto),
// and back. Mechanisms are not in the table: they are read again from their entries.
//
// 1. Exact: the history that comes back continues, event for event, as the first would have.
// 2. Canonical: a table is accepted only if ToTable writes it so.
// Pure functions; thread safe.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "accountant/mechanism/history.h"
#include "dpledger/v1/stored.pb.h"

namespace dpledger::questions {

// Fills `closed` and `open`. Precondition: nothing was merged into the history.
void ToTable(const accountant::History& history, v1::StoredHistory& table);

// INVALID_ARGUMENT, naming the field, for a round that no event could have made, or for a form that
// ToTable does not write.
absl::StatusOr<accountant::History> FromTable(const v1::StoredHistory& table,
                                              std::vector<accountant::Mechanism> mechanisms);

}  // namespace dpledger::questions
