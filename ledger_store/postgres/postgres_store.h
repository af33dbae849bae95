// The LedgerStore for many servers: a PostgreSQL database, with a synchronous standby if it has to
// survive the loss of a machine. Any number of servers use one database at once and none of them
// keeps anything in memory that another one could change.
//
//  1. An acknowledgement follows a commit that is flushed, and that the synchronous standby has, if
//     the server has one. A commit whose answer is lost, or that did not wait for the standby, is
//     looked up by its request id and never taken on trust.
//  2. A head is written only over the size and root that were read under its lock.
//  3. When the database is away, calls are UNAVAILABLE (STORE_UNREACHABLE) and the next one
//     connects again, to whichever of the connection string's hosts takes writes: a failover is
//     followed. UNAVAILABLE (OUTCOME_UNKNOWN) asks for the same request again. So, unlike promise 5
//     of the interface, the store does not stop after an error.
//  4. What Get, List and Read show may, if a standby is promoted after a commit was made not to
//     wait for it (a cancelled wait), turn out not to be there. Receipts and checkpoints are not
//     given before that is excluded.
// Several threads commit; each takes what waits, of any number of ledgers, as one transaction. A
// ledger's row holds all its writers: tens of thousands of them would make its appends slow.
//
// How to run the database: docs/operating.md.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "ledger_store/store.h"

namespace dpledger {

struct PostgresOptions {
  // As libpq takes it: "host=a,b dbname=ledgers user=dpledger passfile=…" or a URI. Always used
  // with target_session_attrs=read-write. Never in an error or a log.
  std::string connection;
  std::string schema = "dpledger";  // made if there is none; [a-z0-9_]
  int connections = 8;              // at most so many, half of them to commit; at least 2
  Clock* clock = Clock::System();
  // Requests waiting for the database, in memory; more are RESOURCE_EXHAUSTED (reason QUEUE_FULL).
  size_t max_pending_bytes = 64 << 20;
  // The longest that a statement, or a commit's wait for its standby, may take: at least 1 s.
  absl::Duration timeout = absl::Seconds(30);
};

// INVALID_ARGUMENT for options out of their domain; FAILED_PRECONDITION if the schema has a later
// version (SCHEMA_NEWER; nothing is written), the server does not sync, or a right is missing;
// UNAVAILABLE if it cannot be reached. Healthy() is false only once the schema has got a later
// version meanwhile; that the database is away does not make it false. The store's destructor
// answers what is waiting.
absl::StatusOr<std::unique_ptr<LedgerStore>> OpenPostgresStore(const PostgresOptions& options);

}  // namespace dpledger
