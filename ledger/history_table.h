// A history as the run-length table that stores keep of it (proto/dpledger/v1/stored.proto), and
// back. Mechanisms are not in it: they are read again from the entries that hold them.
//
// 1. Exact: what comes back goes on as the history would have, event for event.
// 2. One spelling: a table is accepted only if it is what ToTable writes.
// Pure functions; thread safe.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "accountant/mechanism/history.h"
#include "dpledger/v1/stored.pb.h"

namespace dpledger::accountant {

// Fills `closed` and `open`. Precondition: nothing was merged into the history.
void ToTable(const History& history, v1::StoredHistory& table);

// INVALID_ARGUMENT naming the field for a round that no event could have made, or in another
// spelling than ToTable's.
absl::StatusOr<History> FromTable(const v1::StoredHistory& table,
                                  std::vector<Mechanism> mechanisms);

}  // namespace dpledger::accountant
