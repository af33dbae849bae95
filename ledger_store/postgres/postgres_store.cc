#include "ledger_store/postgres/postgres_store.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/out_of_memory.h"
#include "base/status.h"
#include "events/names.h"
#include "ledger/request_rules.h"
#include "ledger_store/postgres/changes.h"
#include "ledger_store/postgres/chunk.h"
#include "ledger_store/postgres/commit_queue.h"
#include "ledger_store/postgres/database.h"
#include "ledger_store/postgres/dataset_counts.h"
#include "ledger_store/postgres/entry_reader.h"
#include "ledger_store/postgres/group_commit.h"
#include "ledger_store/postgres/heads.h"
#include "ledger_store/postgres/postgres_checkpoints.h"
#include "ledger_store/postgres/renew_heads.h"
#include "ledger_store/postgres/summaries.h"
#include "ledger_store/postgres/tail_reader.h"
#include "ledger_store/staging/operation.h"
#include "merkle/compact_tree.h"
#include "merkle/sha256.h"

namespace dpledger {
namespace postgres {
namespace {

// A text that PostgreSQL takes and that has the same names behind it: they are ASCII, and `after`
// may be anything.
std::string AsText(const std::string& after) {
  for (size_t i = 0; i < after.size(); ++i) {
    if (after[i] == '\0') return after.substr(0, i);
    if (!absl::ascii_isascii(static_cast<unsigned char>(after[i]))) {
      return after.substr(0, i) + '\x7f';
    }
  }
  return after;
}

// A malformed name is not looked up: PostgreSQL rejects NUL or non-UTF-8 parameters.
absl::Status CheckMayExist(const std::string& name) {
  return events::CheckLedgerName("ledger", name).ok() ? absl::OkStatus() : LedgerNotFound(name);
}

class PostgresStore : public LedgerStore {
 public:
  PostgresStore(std::unique_ptr<Database> database, const PostgresOptions& options)
      : database_(std::move(database)),
        checkpoints_(*database_, *options.clock),
        clock_(*options.clock),
        queue_(options.max_pending_bytes) {
    OutOfMemory();  // made while there is memory
    for (int i = 0; i < std::max(1, options.connections / 2); ++i) {
      committers_.emplace_back([this] { CommitUntilClosed(); });
    }
  }

  ~PostgresStore() override {
    queue_.Close();
    for (std::thread& committer : committers_) committer.join();
  }

  absl::StatusOr<v1::Ledger> Create(const v1::CreateLedgerRequest& request,
                                    const std::string& caller) override {
    return SubmitAndGet(Operation(request, caller), request.name());
  }

  absl::StatusOr<v1::Ledger> Seal(const v1::SealLedgerRequest& request,
                                  const std::string& caller) override {
    return SubmitAndGet(Operation(request, caller), request.name());
  }

  absl::StatusOr<v1::Ledger> Fork(const v1::ForkLedgerRequest& request, const LedgerPoint& point,
                                  const std::string& caller) override {
    return SubmitAndGet(Operation(ForkAtPoint{request, point}, caller), request.name());
  }

  absl::StatusOr<v1::Receipt> Grant(const GrantAtSize& grant, const std::string& caller) override {
    Operation operation(grant, caller);
    return SubmitAndWait(operation, [&] { queue_.Push(operation); });
  }

  void AppendAsync(v1::AppendBatchRequest request, const std::string& caller,
                   std::shared_ptr<AppendLine> line, AppendCallback done) override {
    const uint64_t turn = line == nullptr ? 0 : line->NextTurn();
    try {
      Operation operation(std::move(request), caller);
      operation.line = line;
      operation.turn = turn;
      queue_.Push(operation, &done);
    } catch (const std::bad_alloc&) {
      if (line != nullptr) line->Break(turn);
      done(OutOfMemory());
    }
  }

  absl::StatusOr<v1::Ledger> Get(const std::string& name, const WriterRange& writers) override {
    RETURN_IF_ERROR(events::CheckLedgerName("name", name));
    ASSIGN_OR_RETURN(const std::shared_ptr<const LedgerHead> head, ReadHead(*database_, name));
    return Describe(*head, writers);
  }

  absl::StatusOr<std::vector<v1::Ledger>> List(const std::string& parent, const std::string& after,
                                               size_t limit, const WriterRange& writers) override {
    const bool every_project = parent == "projects/-";
    if (!every_project) RETURN_IF_ERROR(events::CheckProjectName("parent", parent));
    // '0' follows '/': all names of the project, and no other, are between the two.
    const std::string first = every_project ? "projects/" : absl::StrCat(parent, "/ledgers/");
    const std::string end = every_project ? "projects0" : absl::StrCat(parent, "/ledgers0");
    const std::string behind = std::max(first, AsText(after));
    ASSIGN_OR_RETURN(
        const LedgerHeads heads,
        ReadHeads(*database_,
                  {database_->Sql(absl::StrCat(
                       "SELECT ", kEndColumns,
                       " FROM @.ledgers WHERE name > $1 AND name < $2 ORDER BY name LIMIT $3")),
                   Values().Text(behind).Text(end).Number(
                       static_cast<int64_t>(std::min<size_t>(limit, size_t{1} << 31)))}));
    std::vector<v1::Ledger> ledgers;
    for (const auto& head : heads) ledgers.push_back(Describe(*head, writers));
    return ledgers;
  }

  absl::StatusOr<uint64_t> CountDeclaring(const std::string& dataset) override {
    return postgres::CountDeclaring(*database_, dataset);
  }

  absl::StatusOr<uint64_t> RenewHeads() override { return postgres::RenewHeads(*database_); }

  absl::StatusOr<std::vector<std::string>> Read(const std::string& name, uint64_t first,
                                                size_t max_entries, size_t max_bytes) override {
    RETURN_IF_ERROR(events::CheckLedgerName("ledger", name));
    return ReadEntries(*database_, name, first, max_entries, max_bytes);
  }

  absl::StatusOr<v1::StoredRequest> Answered(const std::string& name,
                                             const std::string& request_id) override {
    RETURN_IF_ERROR(CheckMayExist(name));
    ASSIGN_OR_RETURN(const std::vector<Rows> rows,
                     database_->Read({{database_->Sql("SELECT request_hash, receipt"
                                                      " FROM @.requests"
                                                      " WHERE ledger = $1 AND request_id = $2"),
                                       Values().Text(name).Text(AsText(request_id))}}));
    v1::StoredRequest answered;
    if (rows[0].size() == 0) return absl::NotFoundError("there is no record of it");
    answered.set_request_hash(rows[0].Bytes(0, 0));
    if (answered.mutable_receipt()->ParseFromString(rows[0].Bytes(0, 1))) return answered;
    return absl::DataLossError("its record does not parse");
  }

  absl::StatusOr<uint64_t> CountAnswered(const std::string& name) override {
    RETURN_IF_ERROR(CheckMayExist(name));
    ASSIGN_OR_RETURN(
        const std::vector<Rows> rows,
        database_->Read({{database_->Sql("SELECT count(*) FROM @.requests WHERE ledger = $1"),
                          Values().Text(name)}}));
    return static_cast<uint64_t>(rows[0].Number(0, 0));
  }

  CheckpointStore& checkpoints() override { return checkpoints_; }

  absl::StatusOr<std::vector<Tail>> ReadTails(const std::vector<TailRange>& ranges) override {
    return postgres::ReadTails(*database_, ranges);
  }

  absl::Status PutHistory(const std::string& name, const v1::StoredHistory& history) override {
    RETURN_IF_ERROR(CheckMayExist(name));
    const std::string body = SerializeDeterministically(history);
    return database_->Transact(
        [&](Connection& connection) -> absl::StatusOr<std::vector<Statement>> {
          ASSIGN_OR_RETURN(
              const std::vector<Rows> done,
              connection.Run({{database_->Sql("INSERT INTO @.histories (ledger, body, body_sha256)"
                                              " SELECT name, $2, $3 FROM @.ledgers WHERE name = $1"
                                              " ON CONFLICT (ledger) DO UPDATE SET"
                                              " body = excluded.body,"
                                              " body_sha256 = excluded.body_sha256"),
                               Values().Text(name).Bytes(body).Bytes(
                                   merkle::ToBytes(merkle::Sha256({body})))}}));
          if (done[0].changed() != 1) return LedgerNotFound(name);
          return std::vector<Statement>();
        });
  }

  absl::StatusOr<v1::StoredHistory> GetHistory(const std::string& name) override {
    RETURN_IF_ERROR(CheckMayExist(name));
    ASSIGN_OR_RETURN(
        const std::vector<Rows> rows,
        database_->Read({{database_->Sql("SELECT h.body, h.body_sha256 FROM @.ledgers AS l"
                                         " LEFT JOIN @.histories AS h ON h.ledger = l.name"
                                         " WHERE l.name = $1"),
                          Values().Text(name)}}));
    if (rows[0].size() == 0) return LedgerNotFound(name);
    if (rows[0].IsNull(0, 0)) {
      return absl::NotFoundError(absl::StrCat(name, ": has no run-length table yet"));
    }
    v1::StoredHistory history;
    if (merkle::ToBytes(merkle::Sha256({rows[0].View(0, 0)})) != rows[0].View(0, 1) ||
        !history.ParseFromString(rows[0].Bytes(0, 0))) {
      return absl::DataLossError(absl::StrCat(name, ": its run-length table is damaged"));
    }
    return history;
  }

  absl::Status PutSummaries(const std::vector<SummaryRow>& rows) override {
    return postgres::PutSummaries(*database_, rows);
  }
  absl::StatusOr<std::vector<SummaryRow>> ReadSummaries(
      const std::vector<std::string>& ledgers) override {
    return postgres::ReadSummaries(*database_, ledgers);
  }
  absl::StatusOr<ChangedLedgers> Changed(uint64_t since, size_t limit, const WriterRange& writers,
                                         const KnownSizes& known) override {
    return ReadChanged(*database_, since, limit, writers, known);
  }
  absl::StatusOr<uint64_t> ChangesEnd() override { return ReadChangesEnd(*database_); }

  absl::Status Health() const override { return database_->Health(); }

  void Observe(StoreObserver* observer) override { observer_ = observer; }
  void Guard(AppendGate* gate) override { gate_ = gate; }

  size_t WaitingBytes() const override { return queue_.bytes(); }

 private:
  absl::StatusOr<v1::Ledger> SubmitAndGet(Operation operation, const std::string& name) {
    RETURN_IF_ERROR(SubmitAndWait(operation, [&] { queue_.Push(operation); }).status());
    return Get(name, {.limit = kMostDescribedWriters});
  }

  void CommitUntilClosed() {
    ::pthread_setname_np(::pthread_self(), "commit");  // as top and perf show it
    while (true) {
      const CommitQueue::Group group = Take();
      if (group.operations.empty()) return;
      const Answers answers = Commit(group.operations);
      queue_.Release(group);
      for (size_t i = 0; i < group.operations.size(); ++i) {
        try {
          group.operations[i].done(answers.empty() ? OutOfMemory() : answers[i]);
        } catch (const std::bad_alloc&) {
          // The caller's own answer is lost; it asks again under the same request id.
        }
      }
      queue_.Finish(group);
    }
  }

  // Waits for memory: what is queued stays queued meanwhile.
  CommitQueue::Group Take() {
    while (true) {
      try {
        return queue_.Take();
      } catch (const std::bad_alloc&) {
        absl::SleepFor(absl::Milliseconds(10));
      }
    }
  }

  // None if there was no memory for them; what was stored by then, its caller learns when it asks
  // again.
  Answers Commit(const std::vector<Operation>& group) {
    try {
      CommittedGroup committed{.requests = group.size()};
      const absl::Time before = absl::Now();
      Answers answers = CommitGroup({*database_, *this, gate_, clock_.Now()}, group, committed);
      committed.took = absl::Now() - before;
      if (StoreObserver* const observer = observer_; observer != nullptr) {
        observer->OnGroup(committed);
      }
      return answers;
    } catch (const std::bad_alloc&) {
      for (const Operation& operation : group) operation.BreakLine();
      return {};
    }
  }

  const std::unique_ptr<Database> database_;
  PostgresCheckpoints checkpoints_;
  Clock& clock_;
  CommitQueue queue_;
  std::atomic<StoreObserver*> observer_ = nullptr;  // may be null
  std::atomic<AppendGate*> gate_ = nullptr;         // may be null
  std::vector<std::thread> committers_;             // last: they use all of the above
};

}  // namespace
}  // namespace postgres

absl::StatusOr<std::unique_ptr<LedgerStore>> OpenPostgresStore(const PostgresOptions& options) {
  if (options.connections < 2) {
    return FieldError("connections", absl::StrCat("must be at least 2, got ", options.connections));
  }
  if (options.timeout < absl::Seconds(1) || options.timeout > absl::Hours(1)) {
    return FieldError("timeout", "must be 1 s to 1 h");
  }
  ASSIGN_OR_RETURN(auto database, postgres::Database::Open({.conninfo = options.connection,
                                                            .conninfo_now = options.connection_now,
                                                            .schema = options.schema,
                                                            .connections = options.connections,
                                                            .timeout = options.timeout,
                                                            .keys = options.keys}));
  return std::make_unique<postgres::PostgresStore>(std::move(database), options);
}

}  // namespace dpledger
