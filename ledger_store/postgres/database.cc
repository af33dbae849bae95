#include "ledger_store/postgres/database.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "ledger_store/postgres/schema.h"
#include "ledger_store/store.h"

namespace dpledger::postgres {
namespace {

constexpr int kAttempts = 10;
constexpr size_t kRemembered = 8;  // requests
constexpr int64_t kBarriers = 64;  // rows, so that barriers do not wait for each other

std::mt19937& Random() {
  thread_local std::mt19937 generator{std::random_device()()};
  return generator;
}

// Around 2, 4, 8, … 200 ms, so that those who collided do not collide again.
absl::Duration Pause(int attempt) {
  const double longest = std::min(200.0, std::ldexp(2.0, attempt));
  return absl::Milliseconds(std::uniform_real_distribution<double>(0.5, 1.5)(Random()) * longest);
}

absl::Status OutcomeUnknown(const std::string& why) {
  return WithReason(absl::UnavailableError(
                        absl::StrCat("whether the request was stored for good is not known: ", why,
                                     "; repeat the same request")),
                    {kOutcomeUnknown, {}});
}

}  // namespace

absl::StatusOr<std::unique_ptr<Database>> Database::Open(const DatabaseOptions& options) {
  RETURN_IF_ERROR(CheckSchemaName(options.schema));
  std::unique_ptr<Database> database(new Database(options));
  ASSIGN_OR_RETURN(auto connection, Connection::Open(options.conninfo, options.timeout));
  RETURN_IF_ERROR(MakeSchema(*connection, options.schema));
  if (options.on_copy) {
    const Home home = NoteHome(*connection, options.schema);
    if (!home.was.empty() && home.was != home.is) options.on_copy(home.was, home.is);
  }
  absl::MutexLock lock(&database->mutex_);
  database->idle_.push_back(std::move(connection));
  return database;
}

absl::StatusOr<Database::Borrowed> Database::Borrow() {
  std::unique_ptr<Connection> idle;
  {
    const auto has_room = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return borrowed_ < options_.connections;
    };
    absl::MutexLock lock(&mutex_, absl::Condition(&has_room));
    RETURN_IF_ERROR(refused_);
    ++borrowed_;
    if (!idle_.empty()) {
      idle = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  const bool is_open = idle != nullptr;
  Borrowed borrowed(*this, std::move(idle));
  if (is_open) return borrowed;
  RETURN_IF_ERROR(borrowed.Open());
  return borrowed;
}

absl::Status Database::Borrowed::Open() {
  const DatabaseOptions& options = database_->options_;
  std::string hung, last;
  {
    absl::MutexLock lock(&database_->mutex_);
    hung = database_->hung_;
    last = database_->connected_by_;
  }
  // A string that cannot be read, or by which nobody lets this server in, is a slip, or comes too
  // early: the one by which it connected last is tried too.
  absl::StatusOr<std::string> now = last;
  if (options.conninfo_now) now = options.conninfo_now();
  absl::StatusOr<std::unique_ptr<Connection>> opened =
      Connection::Open(now.value_or(last), options.timeout, hung);
  const bool by_last = !opened.ok() && now.ok() && *now != last;
  if (by_last) opened = Connection::Open(last, options.timeout, hung);
  ASSIGN_OR_RETURN(connection_, std::move(opened));
  if (now.ok() && !by_last) {
    absl::MutexLock lock(&database_->mutex_);
    database_->connected_by_ = *std::move(now);
  }
  absl::Status checked = CheckVersion(*connection_, options.schema);
  if (checked.ok()) checked = database_->CheckAnswered(*connection_);
  const std::string reason = ReasonOf(checked).reason;
  if (reason == kSchemaNewer) return database_->RefuseAsTooOld(checked);
  if (reason == kDatabaseWentBack) return database_->Refuse(checked);
  // A right that was taken, a schema that was renamed: whoever did that can undo it.
  return checked.ok() || absl::IsUnavailable(checked) ? checked
                                                      : Unreachable(std::string(checked.message()));
}

absl::Status Database::Refuse(absl::Status why) {
  absl::MutexLock lock(&mutex_);
  if (refused_.ok()) refused_ = std::move(why);
  return refused_;
}

// Clients ask another server, and repeat.
absl::Status Database::RefuseAsTooOld(const absl::Status& newer) {
  return Refuse(WithReason(absl::UnavailableError(newer.message()), {kServerTooOld, {}}));
}

void Database::HasAnswered(Answered answered) {
  absl::MutexLock lock(&mutex_);
  answered_.push_back(std::move(answered));
  if (answered_.size() > kRemembered) answered_.pop_front();
}

// A failover that loses commits loses the last ones. Receipts tell of them by their roots: a
// request that was made again on the other history has another one, unless nothing differs.
absl::Status Database::CheckAnswered(Connection& connection) {
  Columns answered("ttb");
  {
    absl::MutexLock lock(&mutex_);
    for (const Answered& one : answered_) answered.Add(one.ledger, one.request_id, one.receipt);
  }
  if (answered.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::vector<Rows> found,
                   connection.Run({{Sql("SELECT a.ledger, a.id"
                                        " FROM unnest($1::text[], $2::text[], $3::bytea[])"
                                        " AS a (ledger, id, receipt) LEFT JOIN @.requests AS r"
                                        " ON r.ledger = a.ledger AND r.request_id = a.id"
                                        " WHERE r.receipt IS DISTINCT FROM a.receipt LIMIT 1"),
                                    answered.ToValues()}}));
  if (found[0].size() == 0) return absl::OkStatus();
  const std::string ledger = found[0].Bytes(0, 0), id = found[0].Bytes(0, 1);
  return WithReason(
      absl::UnavailableError(absl::StrCat(
          "the database has gone back: it does not hold what it acknowledged to this server, "
          "request ",
          id, " of ", ledger,
          ". A standby that lacked it was promoted, or a backup was put back: docs/operating.md, "
          "\"A database that has gone back\"")),
      {kDatabaseWentBack, {{"ledger", ledger}, {"request_id", id}}});
}

Database::Borrowed::~Borrowed() {
  if (database_ == nullptr) return;
  connection_.reset();
  absl::MutexLock lock(&database_->mutex_);
  --database_->borrowed_;
}

void Database::Borrowed::Return() {
  connection_->Rollback();
  Database& database = *database_;
  absl::MutexLock lock(&database.mutex_);
  if (connection_->usable()) {
    database.idle_.push_back(std::move(connection_));
  } else {
    database.idle_.clear();  // a server that ended one connection has mostly ended all
    if (!connection_->hung().empty()) database.hung_ = connection_->hung();
  }
  --database.borrowed_;
  database_ = nullptr;
}

absl::StatusOr<std::vector<Rows>> Database::Read(const std::vector<Statement>& statements) {
  absl::StatusOr<std::vector<Rows>> rows = absl::UnavailableError("");
  // Twice: the first one may have lost its server since it was used last.
  for (int attempt = 0; attempt < 2; ++attempt) {
    ASSIGN_OR_RETURN(Borrowed connection, Borrow());
    rows = connection->Run(statements);
    const bool is_hung = connection->IsHungAlone();
    connection.Return();
    if (rows.ok() || !IsUnreachable(rows.status()) || is_hung) return rows;
  }
  return rows;
}

absl::StatusOr<Rows> Database::Read(std::string_view sql, const Values& values) {
  ASSIGN_OR_RETURN(std::vector<Rows> rows, Read({{Sql(sql), values}}));
  return std::move(rows.front());
}

absl::Status Database::Write(const std::vector<Statement>& statements) {
  return Transact([&](Connection&) { return statements; });
}

absl::Status Database::Transact(const Work& work) {
  absl::Status status;
  bool unknown = false;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (attempt > 0) absl::SleepFor(Pause(attempt));
    absl::StatusOr<Borrowed> connection = Borrow();
    if (!connection.ok()) {
      status = connection.status();
      break;
    }
    (*connection)->Begin();
    absl::StatusOr<std::vector<Statement>> last = work(**connection);
    status = last.status();
    if (last.ok()) {
      last->push_back(MayWrite(options_.schema));
      const absl::StatusOr<Committed> committed = (*connection)->Commit(*std::move(last));
      status = committed.status();
      const bool answered = (*connection)->usable();
      if (committed.ok() && *committed == Committed::kDurably) {
        connection->Return();
        return absl::OkStatus();
      }
      if (committed.ok()) {
        unknown = true;
        status = absl::UnavailableError(answered ? "the database did not wait for its standby"
                                                 : "the connection was lost at the commit");
        if (answered) {  // the standby is away: the next try would wait for it as long
          connection->Return();
          break;
        }
      }
    }
    const bool lost = !(*connection)->usable(), is_hung = (*connection)->IsHungAlone();
    if (ReasonOf(status).reason == kDividedByZero) {
      (*connection)->Rollback();
      const absl::Status newer = CheckVersion(**connection, options_.schema);
      if (ReasonOf(newer).reason == kSchemaNewer) status = RefuseAsTooOld(newer);
    }
    connection->Return();
    if ((!lost && !IsConflict(status)) || is_hung) break;  // to dial it again would take seconds
  }
  if (IsConflict(status)) {
    status = WithReason(
        absl::UnavailableError("the ledger is written by too many servers at once; try again"),
        {"STORE_BUSY", {}});
  }
  if (unknown && absl::IsUnavailable(status)) return OutcomeUnknown(std::string(status.message()));
  return status;
}

Statement Database::Barrier() const {
  return {Sql("INSERT INTO @.barriers AS b VALUES ($1, 1)"
              " ON CONFLICT (id) DO UPDATE SET n = b.n + 1"),
          Values().Number(std::uniform_int_distribution<int64_t>(0, kBarriers - 1)(Random()))};
}

absl::Status Database::AwaitStandby() { return Write({Barrier()}); }

std::string Database::Sql(std::string_view sql) const { return InSchema(options_.schema, sql); }

absl::Status Database::Health() const {
  absl::MutexLock lock(&mutex_);
  return refused_;
}

}  // namespace dpledger::postgres
