// One connection to PostgreSQL. It sends statements together and receives their answers together,
// turns errors into this project's, and tells whether a commit is known to be on the standby.
//
//  1. After a lost connection, an unanswered statement, a server that answers nobody or its
//     shutdown, the connection is unusable for good; the caller opens another one.
//  2. No error contains a password or a connection string.
// Not thread safe.
#pragma once

#include <libpq-fe.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "ledger_store/postgres/values.h"

namespace dpledger::postgres {

struct Statement {
  std::string sql;  // prepared at its first use, for as long as the connection lasts
  Values values;
};

// The outcome of a commit.
enum class Committed {
  kDurably,  // flushed here, and on the synchronous standby if the server has one
  kUnknown,  // the answer is lost, or the server did not wait for its standby
};

// Reasons that the engine acts on.
inline constexpr char kTryAgain[] = "TRANSACTION_CONFLICT";  // ABORTED; run the transaction again
inline constexpr char kDividedByZero[] =
    "DIVIDED_BY_ZERO";  // FAILED_PRECONDITION: as MayWrite does
inline constexpr char kUnreachable[] = "STORE_UNREACHABLE";  // UNAVAILABLE; the database is away
bool IsConflict(const absl::Status& status);
absl::Status Unreachable(const std::string& what);
bool IsUnreachable(const absl::Status& status);

class Connection {
 public:
  // Opens a connection to a server that takes writes, and prepares the session: commits wait for
  // the flush and for the synchronous standby, statements end after `timeout` (>= 1 s).
  // INVALID_ARGUMENT if libpq cannot parse `conninfo`; UNAVAILABLE if nobody answers;
  // FAILED_PRECONDITION if the server refuses the login or does not sync what it writes.
  // Of several hosts, the one called `hung` is tried last.
  static absl::StatusOr<std::unique_ptr<Connection>> Open(const std::string& conninfo,
                                                          absl::Duration timeout,
                                                          const std::string& hung = "");
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Sends all statements and waits for all answers. Returns each statement's rows, in order, or the
  // first error; no statement after the failed one has run. ABORTED (kTryAgain): the transaction
  // conflicts with another one. UNAVAILABLE (kUnreachable): no answer. DATA_LOSS: the server
  // reports damaged files. FAILED_PRECONDITION: a right or a table is missing. INTERNAL: anything
  // else.
  absl::StatusOr<std::vector<Rows>> Run(std::vector<Statement> statements);

  // Begins a transaction; BEGIN is sent with the next statements.
  void Begin() { begins_ = true; }
  // Runs the last statements of the open transaction and commits it. An error means that nothing
  // was committed.
  absl::StatusOr<Committed> Commit(std::vector<Statement> last);
  // Leaves the transaction, if one is open.
  void Rollback();

  bool usable() const { return usable_; }
  // The name of its host, if that answers nobody; empty otherwise.
  const std::string& hung() const { return hung_; }
  // Whether it has hung, and the connection string lists no other host to try.
  bool IsHungAlone() const { return !hung_.empty() && is_only_host_; }

 private:
  Connection(PGconn* connection, absl::Duration timeout);

  absl::Status PrepareSession();
  // Returns which statements it had to prepare first.
  absl::StatusOr<std::vector<bool>> Send(const std::vector<Statement>& statements);
  // Sends pending data, and receives until everything is answered or the timeout passes. False: the
  // connection is lost.
  bool Receive(std::vector<PGresult*>& results);
  absl::Status Lost();
  absl::Status ErrorOf(const PGresult* result);

  PGconn* const connection_;
  const absl::Duration timeout_;
  bool usable_ = true;
  std::string hung_;
  bool is_only_host_ = false;
  bool begins_ = false;  // send BEGIN with the next statements
  bool warned_ = false;  // the server has sent a warning since the last statement was sent
  std::map<std::string, std::string> prepared_;  // statement -> its name on the server
};

}  // namespace dpledger::postgres
