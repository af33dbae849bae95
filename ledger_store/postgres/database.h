// A PostgreSQL database with our schema in it: a few connections, opened when they are needed, and
// transactions that are run again until their outcome is known.
// Thread safe.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "ledger_store/postgres/connection.h"

namespace dpledger::postgres {

// Reason of UNAVAILABLE: whether the transaction is there, and would survive the loss of the
// primary, is not known.
inline constexpr char kOutcomeUnknown[] = "OUTCOME_UNKNOWN";

struct DatabaseOptions {
  std::string conninfo;
  std::string schema;
  int connections = 0;
  absl::Duration timeout;
};

class Database {
 public:
  // Connects, and migrates the schema. Errors as Connection::Open and Migrate.
  static absl::StatusOr<std::unique_ptr<Database>> Open(const DatabaseOptions& options);

  // The rows of each statement. Each sees what was committed before it began.
  absl::StatusOr<std::vector<Rows>> Read(const std::vector<Statement>& statements);

  // What a transaction does; its last statements are returned, and go to the server with the
  // commit. It may be run more than once: each run must look up what the ones before it may have
  // stored.
  using Work = std::function<absl::StatusOr<std::vector<Statement>>(Connection&)>;
  // OK only after a commit that is known to be durable, here and on the synchronous standby.
  // Conflicts and lost connections are tried again, some ten times. UNAVAILABLE (kUnreachable,
  // kOutcomeUnknown, STORE_FAILED, STORE_BUSY: it lost every time); what `work` returns.
  absl::Status Transact(const Work& work);

  // No-op write: makes COMMIT wait for the standby. A transaction that promises what it has only
  // read needs one.
  Statement Barrier() const;
  // Transact with nothing but that.
  absl::Status AwaitStandby();

  // `sql` with the schema's name for every "@".
  std::string Sql(std::string_view sql) const;

  // False for good once the schema has become one that this program does not know.
  bool usable() const;

 private:
  explicit Database(const DatabaseOptions& options) : options_(options) {}

  absl::StatusOr<std::unique_ptr<Connection>> Borrow();
  void Return(std::unique_ptr<Connection> connection);

  const DatabaseOptions options_;
  mutable absl::Mutex mutex_;
  std::vector<std::unique_ptr<Connection>> idle_ ABSL_GUARDED_BY(mutex_);
  int borrowed_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status refused_ ABSL_GUARDED_BY(mutex_);  // OK, or why the schema is not ours any more
};

}  // namespace dpledger::postgres
