// Commits requests in groups: one transaction for a whole group, a few statements whatever its
// size.
//
// A transaction locks the heads in the order of their names, looks up the request ids, and writes
// the entries, the requests and the new heads. It writes a head only if the head still has the size
// and root that were read.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "ledger_store/postgres/database.h"
#include "ledger_store/staging/operation.h"

namespace dpledger::postgres {

using Answers = std::vector<absl::StatusOr<v1::Receipt>>;

struct CommitWith {
  Database& database;
  LedgerReader& reader;  // of the same database
  AppendGate* gate;      // may be null
  absl::Time now;
};

// The requests' answers, in order. Breaks the lines of requests that are not stored. A request that
// makes the group's transaction fail does not affect the others: one for which there is no memory
// is RESOURCE_EXHAUSTED (OUT_OF_MEMORY). Throws std::bad_alloc only between two transactions.
// Counts what was stored into `stored`.
Answers CommitGroup(const CommitWith& with, const std::vector<Operation>& group,
                    CommittedGroup& stored);

}  // namespace dpledger::postgres
