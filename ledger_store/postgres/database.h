// A PostgreSQL database with this project's schema: a few connections, opened when needed, and
// transactions that are run again until their outcome is known. Thread safe.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "ledger/stored_head.h"
#include "ledger_store/postgres/connection.h"
#include "ledger_store/postgres/head_cache.h"

namespace dpledger::postgres {

// Reason of UNAVAILABLE: it is not known whether the transaction was committed and would survive
// the loss of the primary.
inline constexpr char kOutcomeUnknown[] = "OUTCOME_UNKNOWN";

struct DatabaseOptions {
  std::string conninfo;
  std::function<absl::StatusOr<std::string>()> conninfo_now;  // PostgresOptions::connection_now
  std::function<void(const std::string&, const std::string&)> on_copy;  // PostgresOptions::on_copy
  std::string schema;
  int connections = 0;
  absl::Duration timeout;
  HeadKeys keys;
};

class Database {
 public:
  // Connects, and makes the tables unless they are there. Errors of Connection::Open and
  // MakeSchema.
  static absl::StatusOr<std::unique_ptr<Database>> Open(const DatabaseOptions& options);

  // The rows of each statement. A statement sees what was committed before it began.
  absl::StatusOr<std::vector<Rows>> Read(const std::vector<Statement>& statements);

  // Of one statement, in which "@" stands for the schema's name.
  absl::StatusOr<Rows> Read(std::string_view sql, const Values& values = {});

  // The work of a transaction. It returns the last statements, which are sent with the commit. It
  // may run more than once: each run must look up what earlier runs may have stored.
  using Work = std::function<absl::StatusOr<std::vector<Statement>>(Connection&)>;
  // OK only after a commit that is known to be durable on the server and on the synchronous
  // standby. Tries again after conflicts and lost connections, about ten times. UNAVAILABLE
  // (kUnreachable, kOutcomeUnknown, kServerTooOld, STORE_FAILED; STORE_BUSY: it lost every
  // conflict); errors of
  // `work`. Throws std::bad_alloc, and then it is not known whether anything was committed.
  absl::Status Transact(const Work& work);

  // The statements as a transaction. Errors of Transact.
  absl::Status Write(const std::vector<Statement>& statements);

  // No-op write: makes COMMIT wait for the standby. A transaction whose answer depends on what it
  // only read needs one.
  Statement Barrier() const;
  // Transacts the barrier alone.
  absl::Status AwaitStandby();

  // `sql` with the schema's name for every "@".
  std::string Sql(std::string_view sql) const;

  // What this server has seen of the ledgers.
  HeadCache& heads() { return heads_; }
  SeenCounts& counts() { return counts_; }

  // Of the heads.
  const HeadKeys& keys() const { return options_.keys; }

  // A request that was answered, and its receipt as the database has it.
  struct Answered {
    std::string ledger, request_id, receipt;
  };
  // Each new connection looks whether the last ones are still there: one of a transaction is
  // enough.
  void HasAnswered(Answered answered);

  // OK, or why the database is not used any more: kServerTooOld, or DATABASE_WENT_BACK.
  absl::Status Health() const;

 private:
  explicit Database(const DatabaseOptions& options)
      : options_(options), connected_by_(options.conninfo) {}

  // A connection, and its place among those that may be open. One that was not given back when it
  // goes, for want of memory, is closed: who knows what is on its way there.
  class Borrowed {
   public:
    Borrowed(Database& database, std::unique_ptr<Connection> connection)
        : database_(&database), connection_(std::move(connection)) {}
    Borrowed(Borrowed&& other) noexcept
        : database_(std::exchange(other.database_, nullptr)),
          connection_(std::move(other.connection_)) {}
    ~Borrowed();

    Connection& operator*() { return *connection_; }
    Connection* operator->() { return connection_.get(); }
    // Connects, where no connection was idle.
    absl::Status Open();
    void Return();

   private:
    Database* database_;  // null: given back
    std::unique_ptr<Connection> connection_;
  };
  absl::StatusOr<Borrowed> Borrow();
  // Uses the database no more, for that reason; returns it.
  absl::Status Refuse(absl::Status why);
  // `newer`: the error of a schema that is not for this program any more.
  absl::Status RefuseAsTooOld(const absl::Status& newer);
  // What a new connection must find; UNAVAILABLE (DATABASE_WENT_BACK).
  absl::Status CheckAnswered(Connection& connection);

  const DatabaseOptions options_;
  HeadCache heads_;
  SeenCounts counts_;
  mutable absl::Mutex mutex_;
  std::vector<std::unique_ptr<Connection>> idle_ ABSL_GUARDED_BY(mutex_);
  int borrowed_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<Answered> answered_ ABSL_GUARDED_BY(mutex_);
  std::string connected_by_ ABSL_GUARDED_BY(mutex_);  // the last connection string that was taken
  std::string hung_
      ABSL_GUARDED_BY(mutex_);  // the host that answered nobody when it was asked last
  absl::Status refused_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace dpledger::postgres
