#include "ledger_store/postgres/connection.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <initializer_list>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "base/absl_view.h"
#include "base/status.h"

namespace dpledger::postgres {

absl::Status Unreachable(const std::string& what) {
  return WithReason(absl::UnavailableError(absl::StrCat("the database cannot be reached: ", what)),
                    {kUnreachable, {}});
}

namespace {

// libpq's words for a login that failed, if they do not hold the password.
std::string LoginError(PGconn* connection) {
  const std::string message = PQerrorMessage(connection);
  const char* const password = PQpass(connection);
  if (password != nullptr && *password != '\0' && absl::StrContains(message, password)) {
    return "the login failed";
  }
  return message.substr(0, message.find_last_not_of(" \n") + 1);
}

// Classes 08 and 57 of SQLSTATE are about the connection and its server; 25006 comes from a primary
// that has become a standby. https://www.postgresql.org/docs/15/errcodes-appendix.html
bool SaysServerIsGone(std::string_view state) {
  return state.substr(0, 2) == "08" || state == "57P01" || state == "57P02" || state == "57P03" ||
         state == "57P05" || state == "25006" || state == "25P03";
}

// 23505, 42P06, 42P07, 42710: another server made the same thing at the same time. 22P02: the cast
// of group_commit.cc that fails if a head is not as it was read.
bool SaysTryAgain(std::string_view state) {
  static constexpr std::array<std::string_view, 7> kStates = {"40001", "40P01", "22P02", "23505",
                                                              "42P06", "42P07", "42710"};
  return std::find(kStates.begin(), kStates.end(), state) != kStates.end();
}

// Parameters of libpq, as it takes them.
struct Parameters {
  Parameters(std::initializer_list<std::pair<const char*, const char*>> given) {
    for (const auto& [name, value] : given) {
      names.push_back(name);
      values.push_back(value);
    }
    names.push_back(nullptr);
    values.push_back(nullptr);
  }
  std::vector<const char*> names, values;
};

// How long nothing may come from a server before it is asked whether it is there.
constexpr absl::Duration kQuiet = absl::Seconds(2);

// Whether the connection's server answers anybody. One that was frozen with its machine, or its
// processes alone, keeps its connections, and TCP sees nothing wrong.
bool Answers(PGconn* connection) {
  // With a user: libpq asks nobody where the process's own has no name, as in a container.
  const Parameters to({{"host", PQhost(connection)},
                       {"hostaddr", PQhostaddr(connection)},
                       {"port", PQport(connection)},
                       {"user", PQuser(connection)},
                       {"connect_timeout", "2"},
                       {"sslmode", "disable"},
                       {"gssencmode", "disable"}});
  const absl::Time begun = absl::Now();
  if (PQpingParams(to.names.data(), to.values.data(), /*expand_dbname=*/0) != PQPING_NO_RESPONSE)
    return true;
  // Somebody who hangs up at once is there: a proxy that takes TLS only.
  return absl::Now() - begun < absl::Seconds(1);
}

std::string HostOf(PGconn* connection) {
  return absl::StrCat(PQhost(connection), ":", PQport(connection));
}

// The hosts that a connection string lists, as it lists them.
class Hosts {
 public:
  explicit Hosts(const PQconninfoOption* options) {
    for (; options->keyword != nullptr; ++options) {
      const auto list = lists_.find(options->keyword);
      if (list != lists_.end() && options->val != nullptr)
        list->second = absl::StrSplit(options->val, ',');
    }
  }
  // Puts the one that is called so last.
  void PutLast(const std::string& name) {
    const size_t count = std::max(lists_["host"].size(), lists_["hostaddr"].size());
    for (size_t i = 0; i < count; ++i) {
      const std::string& host = At("host", i).empty() ? At("hostaddr", i) : At("host", i);
      const std::string& port = lists_["port"].size() == 1 ? At("port", 0) : At("port", i);
      if (absl::StrCat(host, ":", port.empty() ? "5432" : port) != name) continue;
      for (auto& [keyword, list] : lists_) {
        if (list.size() == count) std::rotate(list.begin() + i, list.begin() + i + 1, list.end());
      }
      return;
    }
  }
  std::string Listed(const std::string& keyword) { return absl::StrJoin(lists_[keyword], ","); }

 private:
  const std::string& At(const std::string& keyword, size_t i) {
    static const std::string kNone;
    return i < lists_[keyword].size() ? lists_[keyword][i] : kNone;
  }

  std::map<std::string, std::vector<std::string>> lists_ = {
      {"host", {}}, {"hostaddr", {}}, {"port", {}}};
};

}  // namespace

bool IsConflict(const absl::Status& status) { return ReasonOf(status).reason == kTryAgain; }

bool IsUnreachable(const absl::Status& status) { return ReasonOf(status).reason == kUnreachable; }

Connection::Connection(PGconn* connection, absl::Duration timeout)
    : connection_(connection), timeout_(timeout) {}

Connection::~Connection() { PQfinish(connection_); }

absl::StatusOr<std::unique_ptr<Connection>> Connection::Open(const std::string& conninfo,
                                                             absl::Duration timeout,
                                                             const std::string& hung) {
  char* error = nullptr;
  PQconninfoOption* const parsed = PQconninfoParse(conninfo.c_str(), &error);
  PQfreemem(error);  // it quotes the string, and so may hold the password
  if (parsed == nullptr) {
    return FieldError("connection", "must be a connection string that libpq takes");
  }
  Hosts hosts(parsed);
  PQconninfoFree(parsed);
  hosts.PutLast(hung);
  const std::string host = hosts.Listed("host"), hostaddr = hosts.Listed("hostaddr"),
                    port = hosts.Listed("port");
  // What stands before the string is a default, what stands behind it is not to be changed. A dead
  // host is noticed within seconds, also while a commit waits for it.
  const Parameters parameters({{"fallback_application_name", "dpledger"},
                               {"connect_timeout", "3"},
                               {"keepalives_idle", "5"},
                               {"keepalives_interval", "2"},
                               {"keepalives_count", "3"},
                               {"tcp_user_timeout", "10000"},
                               {"dbname", conninfo.c_str()},
                               {"host", host.c_str()},
                               {"hostaddr", hostaddr.c_str()},
                               {"port", port.c_str()},
                               {"target_session_attrs", "read-write"}});
  std::unique_ptr<Connection> connection(new Connection(
      PQconnectdbParams(parameters.names.data(), parameters.values.data(), /*expand_dbname=*/1),
      timeout));
  connection->is_only_host_ = (host + hostaddr + port).find(',') == std::string::npos;
  PGconn* const libpq = connection->connection_;
  if (PQstatus(libpq) != CONNECTION_OK) return Unreachable(LoginError(libpq));
  PQsetNoticeReceiver(
      libpq,
      [](void* warned, const PGresult* notice) {
        // In English whatever the server speaks.
        const char* const severity = PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
        if (severity == nullptr || std::string_view(severity) == "WARNING") {
          *static_cast<bool*>(warned) = true;
        }
      },
      &connection->warned_);
  RETURN_IF_ERROR(connection->PrepareSession());
  return connection;
}

absl::Status Connection::PrepareSession() {
  if (PQsetnonblocking(connection_, 1) != 0 || PQenterPipelineMode(connection_) != 1) return Lost();
  const auto set = [](std::string_view name, std::string_view value) {
    return Statement{"SELECT set_config($1, $2, false)", Values().Text(name).Text(value)};
  };
  const std::string milliseconds = absl::StrCat(absl::ToInt64Milliseconds(timeout_));
  ASSIGN_OR_RETURN(
      const std::vector<Rows> answers,
      Run({{"SELECT current_setting('synchronous_commit'), coalesce(current_setting('fsync', true),"
            " 'on')",
            {}},
           // Each statement sees what was committed before it, whatever the database's default is:
           // MayWrite relies on it.
           set("default_transaction_isolation", "read committed"),
           set("client_min_messages", "warning"),  // or a commit's warning would not arrive
           set("quote_all_identifiers", "off"),    // or names of types would have quotes
           set("statement_timeout", milliseconds),
           // Longer than any group takes: whoever holds a head so long is stuck.
           set("lock_timeout",
               absl::StrCat(absl::ToInt64Milliseconds(std::min(timeout_, absl::Seconds(5))))),
           set("idle_in_transaction_session_timeout", milliseconds),
           // Where the server has it: lz4 packs entries at several times the default's speed.
           {"SELECT set_config(name, 'lz4', false) FROM pg_catalog.pg_settings"
            " WHERE name = 'default_toast_compression' AND 'lz4' = ANY (enumvals)",
            {}}}));
  if (answers[0].View(0, 1) != "on") {
    return absl::FailedPreconditionError(
        "the database runs with fsync off: it loses what it has acknowledged");
  }
  const std::string_view mode = answers[0].View(0, 0);
  if (mode == "on" || mode == "remote_apply") return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::vector<Rows> raised, Run({set("synchronous_commit", "on")}));
  if (raised[0].View(0, 0) == "on") return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("synchronous_commit is ", ToAbsl(mode), " and cannot be set to on"));
}

absl::StatusOr<std::vector<Rows>> Connection::Run(std::vector<Statement> statements) {
  if (!usable_) return Lost();
  const bool begins = std::exchange(begins_, false);
  if (begins) statements.insert(statements.begin(), {"BEGIN", {}});
  warned_ = false;
  ASSIGN_OR_RETURN(const std::vector<bool> prepares, Send(statements));
  std::vector<PGresult*> results;
  const bool answered = Receive(results);
  std::vector<Rows> rows;  // owns the results from here on
  for (PGresult* result : results) rows.emplace_back(result);
  const auto failed = [&results](size_t i) {
    const ExecStatusType status = PQresultStatus(results[i]);
    return status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK;
  };
  std::vector<Rows> answers;
  size_t next = 0;
  for (size_t i = 0; i < statements.size(); ++i) {
    if (prepares[i]) {
      if (next >= rows.size()) return Lost();
      if (failed(next)) return ErrorOf(results[next]);
      prepared_.emplace(statements[i].sql, absl::StrCat("s", prepared_.size()));
      ++next;
    }
    if (next >= rows.size()) return Lost();
    if (failed(next)) return ErrorOf(results[next]);
    answers.push_back(std::move(rows[next++]));
  }
  if (!answered) return Lost();
  if (begins) answers.erase(answers.begin());
  return answers;
}

absl::StatusOr<std::vector<bool>> Connection::Send(const std::vector<Statement>& statements) {
  std::map<std::string, std::string> names = prepared_;
  std::vector<bool> prepares;
  for (const Statement& statement : statements) {
    const auto& types = statement.values.types();
    const int count = static_cast<int>(types.size());
    const auto [name, is_new] = names.emplace(statement.sql, absl::StrCat("s", names.size()));
    prepares.push_back(is_new);
    if (is_new && PQsendPrepare(connection_, name->second.c_str(), statement.sql.c_str(), count,
                                types.data()) != 1) {
      return Lost();
    }
    std::vector<const char*> values;
    std::vector<int> lengths;
    for (const std::string& bytes : statement.values.bytes()) {
      values.push_back(bytes.data());
      lengths.push_back(static_cast<int>(bytes.size()));
    }
    const std::vector<int> binary(values.size(), 1);
    if (PQsendQueryPrepared(connection_, name->second.c_str(), count, values.data(), lengths.data(),
                            binary.data(), /*resultFormat=*/1) != 1) {
      return Lost();
    }
  }
  if (PQpipelineSync(connection_) != 1) return Lost();
  return prepares;
}

bool Connection::Receive(std::vector<PGresult*>& results) {
  // The server gives up first, and says so.
  const absl::Time deadline = absl::Now() + timeout_ + absl::Seconds(5);
  absl::Time quiet_until = absl::Now() + kQuiet;
  while (true) {
    const int unsent = PQflush(connection_);
    if (unsent < 0) break;
    while (PQisBusy(connection_) == 0) {
      PGresult* const result = PQgetResult(connection_);
      if (PQstatus(connection_) == CONNECTION_BAD) {
        if (result != nullptr) results.push_back(result);
        return false;
      }
      if (result == nullptr) continue;  // between two statements
      if (PQresultStatus(result) == PGRES_PIPELINE_SYNC) {
        PQclear(result);
        return true;
      }
      results.push_back(result);
    }
    pollfd wait = {.fd = PQsocket(connection_),
                   .events = static_cast<short>(unsent > 0 ? POLLIN | POLLOUT : POLLIN),
                   .revents = 0};
    const absl::Time now = absl::Now();
    if (now >= deadline) break;
    if (now >= quiet_until) {
      if (!Answers(connection_)) {
        hung_ = HostOf(connection_);
        break;
      }
      quiet_until = absl::Now() + kQuiet;
    }
    const absl::Duration wait_for = std::min(deadline, quiet_until) - now;
    const int millis = static_cast<int>(absl::ToInt64Milliseconds(wait_for)) + 1;
    if (poll(&wait, 1, millis) < 0 && errno != EINTR) break;
    if (wait.revents == 0) continue;
    quiet_until = absl::Now() + kQuiet;
    if (PQconsumeInput(connection_) != 1 && PQisBusy(connection_) != 0) break;
  }
  return false;
}

absl::StatusOr<Committed> Connection::Commit(std::vector<Statement> last) {
  // After an error the server skips what was sent with it, the commit too.
  last.push_back({"COMMIT", {}});
  const absl::StatusOr<std::vector<Rows>> answers = Run(std::move(last));
  if (!answers.ok()) {
    // A lost connection leaves it open whether the server still took it.
    if (IsUnreachable(answers.status())) return Committed::kUnknown;
    return answers.status();
  }
  if (answers->back().tag() != "COMMIT") {
    return absl::InternalError("the database rolled the transaction back");
  }
  return warned_ ? Committed::kUnknown : Committed::kDurably;
}

void Connection::Rollback() {
  begins_ = false;
  if (usable_ && PQtransactionStatus(connection_) != PQTRANS_IDLE &&
      !Run({{"ROLLBACK", {}}}).ok()) {
    usable_ = false;
  }
}

absl::Status Connection::Lost() {
  usable_ = false;
  return Unreachable("the connection was lost");
}

absl::Status Connection::ErrorOf(const PGresult* result) {
  const char* const field = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  if (field == nullptr) return Lost();
  const std::string_view state = field;
  // Without detail and context: they quote rows.
  const char* const primary = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  const std::string message =
      absl::StrCat("the database: ", primary == nullptr ? "" : primary, " (SQLSTATE ", field, ")");
  if (SaysServerIsGone(state) || PQstatus(connection_) == CONNECTION_BAD) {
    usable_ = false;
    return Unreachable(message);
  }
  if (SaysTryAgain(state)) return WithReason(absl::AbortedError(message), {kTryAgain, {}});
  const std::string_view group = state.substr(0, 2);
  if (group == "XX" && state != "XX000") return absl::DataLossError(message);
  // Cancelled at the timeout; a lock not had in time; out of disk, memory or connections; an error
  // of its disk; a right that was taken, a table or schema that was renamed: whoever did that can
  // undo it.
  if (group == "57" || group == "53" || group == "58" || state == "55P03" || state == "42501" ||
      state == "42P01" || state == "3F000") {
    return WithReason(absl::UnavailableError(message), {"STORE_FAILED", {}});
  }
  if (state == "22012")
    return WithReason(absl::FailedPreconditionError(message), {kDividedByZero, {}});
  return absl::InternalError(message);
}

}  // namespace dpledger::postgres
