// The LedgerStore for many servers: a PostgreSQL database, with a synchronous standby if it has to
// survive the loss of a machine. Any number of servers may use one database at once; none of them
// caches anything that another one could change.
//
//  1. An acknowledgement follows a commit that is flushed, and that the synchronous standby has, if
//     the server has one. After a commit whose answer is lost, or that did not wait for the
//     standby, the store looks the request id up; it never assumes the outcome.
//  2. A head is replaced only if it has the size and root that were read under its lock.
//  3. If the database cannot be reached, calls are UNAVAILABLE (STORE_UNREACHABLE). The next call
//     connects again, to whichever of the connection string's hosts takes writes, and so follows a
//     failover. After UNAVAILABLE (OUTCOME_UNKNOWN) the caller must send the same request again.
//     So, unlike promise 5 of the interface, the store does not stop after an error.
//  4. If a commit's wait for the standby is cancelled and the standby is then promoted, entries
//     that Get, List and Read have shown may be gone. Receipts and checkpoints are returned only
//     once that is impossible.
// Several threads commit; each takes waiting requests, of any number of ledgers, into one
// transaction.
//
// How to run the database: docs/operating.md.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "ledger/stored_head.h"
#include "ledger_store/store.h"

namespace dpledger {

struct PostgresOptions {
  // As libpq takes it: "host=a,b dbname=ledgers user=dpledger passfile=…" or a URI. Always used
  // with target_session_attrs=read-write. Never in an error or a log.
  std::string connection;
  // Asked before each further connection, so that a password may change while the store is open.
  // Null, an error, or what nobody takes: the string that was taken last.
  std::function<absl::StatusOr<std::string>()> connection_now = {};
  // Called within Open if the database lies elsewhere than at the start before: it is a copy, or
  // was restored from a dump. Null: nothing is looked at or noted. (schema.h: Home.)
  std::function<void(const std::string& was, const std::string& is)> on_copy = {};
  std::string schema = "dpledger";  // made if there is none; [a-z0-9_]
  int connections = 8;              // the most to open, half of them for commits; at least 2
  Clock* clock = Clock::System();
  // Memory of the requests that wait for the database. Further requests are RESOURCE_EXHAUSTED
  // (reason QUEUE_FULL).
  size_t max_pending_bytes = 64 << 20;
  // A server's are always given. Without a current one the store reads, and takes nothing where
  // heads have authenticators.
  HeadKeys keys = {};
  // The longest that a statement, or a commit's wait for its standby, may take: at least 1 s.
  absl::Duration timeout = absl::Seconds(30);
};

// INVALID_ARGUMENT for options out of their domain; FAILED_PRECONDITION if the schema has a later
// version (SCHEMA_NEWER; nothing is written), the server does not sync, or a right is missing;
// UNAVAILABLE if it cannot be reached. Health() ends if the schema gets a later version meanwhile
// (kServerTooOld), or the database has lost what this store acknowledged (DATABASE_WENT_BACK, seen
// with each new connection); not if it cannot be reached. The store's destructor answers the
// requests that wait.
absl::StatusOr<std::unique_ptr<LedgerStore>> OpenPostgresStore(const PostgresOptions& options);

}  // namespace dpledger
