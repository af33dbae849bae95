#include "ledger_store/postgres/postgres_store.h"

#include <pthread.h>

#include <algorithm>
#include <map>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/entry_clock.h"
#include "base/out_of_memory.h"
#include "base/status.h"
#include "events/names.h"
#include "ledger/request_rules.h"
#include "ledger_store/postgres/commit_queue.h"
#include "ledger_store/postgres/database.h"
#include "ledger_store/postgres/dataset_counts.h"
#include "ledger_store/postgres/entries.h"
#include "ledger_store/postgres/group_commit.h"
#include "ledger_store/postgres/heads.h"
#include "ledger_store/postgres/postgres_checkpoints.h"
#include "ledger_store/postgres/texts.h"
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

class PostgresStore : public EngineStore {
 public:
  PostgresStore(std::unique_ptr<Database> database, const PostgresOptions& options)
      : database_(std::move(database)),
        checkpoints_(*database_, *options.clock),
        entry_clock_(*options.clock),
        queue_(options.max_pending_bytes) {
    for (int i = 0; i < std::max(1, options.connections / 2); ++i) {
      committers_.emplace_back([this] { CommitUntilClosed(); });
    }
  }

  ~PostgresStore() override {
    queue_.Close();
    for (std::thread& committer : committers_) committer.join();
  }

  absl::StatusOr<uint64_t> CountDeclaring(const std::string& dataset) override {
    return postgres::CountDeclaring(*database_, dataset);
  }

  std::unique_ptr<SharedText> Text(const std::string& name) override {
    return TextIn(*database_, name);
  }

  absl::StatusOr<uint64_t> RenewHeads() override { return postgres::RenewHeads(*database_); }

  absl::StatusOr<v1::StoredRequest> Answered(const std::string& name,
                                             const std::string& request_id) override {
    RETURN_IF_ERROR(CheckMayExist(name));
    ASSIGN_OR_RETURN(const Rows rows,
                     database_->Read("SELECT request_hash, receipt FROM @.requests"
                                     " WHERE ledger = $1 AND request_id = $2",
                                     Values().Text(name).Text(AsText(request_id))));
    v1::StoredRequest answered;
    if (rows.size() == 0) return absl::NotFoundError("there is no record of it");
    answered.set_request_hash(rows.Bytes(0, 0));
    if (answered.mutable_receipt()->ParseFromString(rows.Bytes(0, 1))) return answered;
    return absl::DataLossError("its record does not parse");
  }

  absl::StatusOr<uint64_t> CountAnswered(const std::string& name) override {
    RETURN_IF_ERROR(CheckMayExist(name));
    ASSIGN_OR_RETURN(
        const Rows rows,
        database_->Read("SELECT count(*) FROM @.requests WHERE ledger = $1", Values().Text(name)));
    return rows.Size(0, 0);
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
    ASSIGN_OR_RETURN(const Rows rows,
                     database_->Read("SELECT h.body, h.body_sha256 FROM @.ledgers AS l"
                                     " LEFT JOIN @.histories AS h ON h.ledger = l.name"
                                     " WHERE l.name = $1",
                                     Values().Text(name)));
    if (rows.size() == 0) return LedgerNotFound(name);
    if (rows.IsNull(0, 0)) {
      return absl::NotFoundError(absl::StrCat(name, ": has no run-length table yet"));
    }
    v1::StoredHistory history;
    if (merkle::ToBytes(merkle::Sha256({rows.View(0, 0)})) != rows.View(0, 1) ||
        !history.ParseFromString(rows.Bytes(0, 0))) {
      return absl::DataLossError(absl::StrCat(name, ": its run-length table is damaged"));
    }
    return history;
  }

  absl::Status PutSummaries(const std::vector<SummaryRow>& rows) override {
    // By name, so that two servers lock rows in the same order; each once, as the statement
    // demands.
    std::map<std::string, std::string> by_name;
    for (const SummaryRow& row : rows) by_name[row.ledger] = row.bytes;
    if (by_name.empty()) return absl::OkStatus();
    Columns columns("tb");
    for (const auto& [name, bytes] : by_name) columns.Add(name, bytes);
    return database_->Write(
        {{database_->Sql("INSERT INTO @.summaries (ledger, body) SELECT g.ledger, g.body"
                         " FROM unnest($1::text[], $2::bytea[]) AS g (ledger, body)"
                         " WHERE EXISTS (SELECT 1 FROM @.ledgers AS l WHERE l.name = g.ledger)"
                         " ORDER BY g.ledger"
                         " ON CONFLICT (ledger) DO UPDATE SET body = excluded.body"),
          columns.ToValues()}});
  }
  absl::StatusOr<std::vector<SummaryRow>> ReadSummaries(
      const std::vector<std::string>& ledgers) override {
    ASSIGN_OR_RETURN(
        const Rows found,
        ledgers.empty()
            ? database_->Read("SELECT ledger, body FROM @.summaries")
            : database_->Read("SELECT ledger, body FROM @.summaries WHERE ledger = ANY ($1)",
                              Values().Texts(ledgers)));
    std::vector<SummaryRow> rows;
    for (int row = 0; row < found.size(); ++row) {
      rows.push_back({found.Bytes(row, 0), found.Bytes(row, 1)});
    }
    return rows;
  }
  absl::StatusOr<std::shared_ptr<const LedgerHead>> Head(const std::string& name) override {
    return ReadHead(*database_, name);
  }

  absl::StatusOr<LedgerHeads> Heads(const std::string& prefix, const std::string& after,
                                    size_t limit) override {
    // '0' follows '/': all names with the prefix, and no other, are between the two.
    const std::string end = prefix.substr(0, prefix.size() - 1) + '0';
    return ReadHeads(*database_,
                     {database_->Sql(absl::StrCat(
                          "SELECT ", kEndColumns,
                          " FROM @.ledgers WHERE name > $1 AND name < $2 ORDER BY name LIMIT $3")),
                      Values()
                          .Text(std::max(prefix, AsText(after)))
                          .Text(end)
                          .Number(std::min<size_t>(limit, size_t{1} << 31))});
  }

  absl::StatusOr<ChangedLedgers> Changed(uint64_t since, size_t limit,
                                         const KnownSizes& known) override {
    return ReadChanged(*database_, since, limit, known);
  }
  absl::StatusOr<uint64_t> ChangesEnd() override { return ReadChangesEnd(*database_); }

  absl::Status Health() const override { return database_->Health(); }

  size_t WaitingBytes() const override { return queue_.bytes(); }

 private:
  void Queue(Operation&& operation, AppendCallback* done) override { queue_.Push(operation, done); }

  absl::StatusOr<std::vector<std::string>> Entries(const std::string& name, uint64_t first,
                                                   size_t max_entries, size_t max_bytes) override {
    return ReadEntries(*database_, name, first, max_entries, max_bytes);
  }

  void CommitUntilClosed() {
    ::pthread_setname_np(::pthread_self(), "commit");  // as top and perf show it
    while (true) {
      const CommitQueue::Group group = Take();
      if (group.operations.empty()) return;
      const Answers answers = Commit(group.operations);
      queue_.Release(group);
      for (size_t i = 0; i < group.operations.size(); ++i) {
        Answer(group.operations[i], answers.empty() ? OutOfMemory() : answers[i]);
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
      Answers answers =
          CommitGroup({*database_, *this, gate(), entry_clock_.Now()}, group, committed);
      committed.took = absl::Now() - before;
      Tell(committed);
      return answers;
    } catch (const std::bad_alloc&) {
      for (const Operation& operation : group) operation.BreakLine();
      return {};
    }
  }

  const std::unique_ptr<Database> database_;
  PostgresCheckpoints checkpoints_;
  const EntryClock entry_clock_;
  CommitQueue queue_;
  std::vector<std::thread> committers_;  // last: they use all of the above
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
                                                            .on_copy = options.on_copy,
                                                            .schema = options.schema,
                                                            .connections = options.connections,
                                                            .timeout = options.timeout,
                                                            .keys = options.keys}));
  return std::make_unique<postgres::PostgresStore>(std::move(database), options);
}

}  // namespace dpledger
