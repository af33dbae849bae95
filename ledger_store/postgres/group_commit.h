// Commits requests in groups: one transaction for all of a group, a few statements whatever its
// size.
//
// A transaction locks the heads in the order of their names, looks the request ids up, and writes
// the entries, the requests and the new heads; each head only if it still has the size and the root
// that were read.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "ledger_store/postgres/database.h"
#include "ledger_store/staging/operation.h"

namespace dpledger::postgres {

// Each one's answer, in order; breaks the lines of what is not stored. A request that makes the
// group's transaction fail does not spoil the others.
std::vector<absl::StatusOr<v1::Receipt>> CommitGroup(Database& database, absl::Time now,
                                                     std::vector<Operation>& group);

}  // namespace dpledger::postgres
