#include "ledger_store/postgres/group_commit.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/out_of_memory.h"
#include "base/status.h"
#include "ledger_store/postgres/dataset_counts.h"
#include "ledger_store/postgres/entries.h"
#include "ledger_store/postgres/heads.h"
#include "ledger_store/staging/staged_group.h"

namespace dpledger::postgres {
namespace {

// What the requests speak of, locked and read.
class LockedLedgers : public StoredLedgers {
 public:
  explicit LockedLedgers(LedgerReader& reader) : reader_(reader) {}

  void Add(std::shared_ptr<const LedgerHead> head) { heads_[head->name] = std::move(head); }
  void Add(const std::string& ledger, const std::string& request_id, v1::StoredRequest answered) {
    answered_[{ledger, request_id}] = std::move(answered);
  }

  std::shared_ptr<const LedgerHead> Head(const std::string& ledger) override {
    const auto found = heads_.find(ledger);
    return found == heads_.end() ? nullptr : found->second;
  }
  absl::StatusOr<v1::StoredRequest> Answered(const std::string& ledger,
                                             const std::string& request_id) override {
    const auto found = answered_.find({ledger, request_id});
    if (found == answered_.end()) return absl::NotFoundError("");
    return found->second;
  }
  LedgerReader& reader() override { return reader_; }

 private:
  LedgerReader& reader_;
  std::map<std::string, std::shared_ptr<const LedgerHead>> heads_;
  std::map<std::pair<std::string, std::string>, v1::StoredRequest> answered_;
};

absl::Status Load(Database& database, Connection& connection, std::span<const Operation> group,
                  LockedLedgers& locked) {
  std::set<std::string> names;
  std::vector<std::string> ledgers;
  std::vector<std::string> request_ids;
  for (const Operation& operation : group) {
    if (operation.is_refusal()) continue;
    names.insert(operation.ledgers.begin(), operation.ledgers.end());
    ledgers.push_back(operation.ledgers.front());
    request_ids.push_back(operation.request_id);
  }
  if (names.empty()) return absl::OkStatus();
  // The lookup sees all that the one who held a lock before has committed.
  ASSIGN_OR_RETURN(
      const std::vector<Rows> found,
      connection.Run(
          {{database.Sql(absl::StrCat("SELECT ", kEndColumns,
                                      " FROM @.ledgers WHERE name = ANY ($1)"
                                      " ORDER BY name FOR UPDATE")),
            Values().Texts({names.begin(), names.end()})},
           {database.Sql("SELECT r.ledger, r.request_id, r.request_hash, r.receipt"
                         " FROM unnest($1::text[], $2::text[]) AS asked (ledger, request_id)"
                         " JOIN @.requests AS r"
                         " ON r.ledger = asked.ledger AND r.request_id = asked.request_id"),
            Values().Texts(ledgers).Texts(request_ids)}}));
  ASSIGN_OR_RETURN(const LedgerHeads heads, ReadHeads(database, In(connection), found[0]));
  for (const auto& head : heads) locked.Add(head);
  for (int row = 0; row < found[1].size(); ++row) {
    v1::StoredRequest answered;
    answered.set_request_hash(found[1].Bytes(row, 2));
    if (!answered.mutable_receipt()->ParseFromString(found[1].Bytes(row, 3))) {
      return absl::DataLossError(
          absl::StrCat(found[1].Bytes(row, 0), ": an answered request does not parse"));
    }
    locked.Add(found[1].Bytes(row, 0), found[1].Bytes(row, 1), std::move(answered));
  }
  return absl::OkStatus();
}

// Adds the statement unless there are no rows.
void AddTo(std::vector<Statement>& writes, const Database& database, std::string_view sql,
           const Columns& rows) {
  if (!rows.empty()) writes.push_back({database.Sql(sql), rows.ToValues()});
}

// New ledgers, and the heads of those that grew.
void WriteHeads(const Database& database, const StagedGroup& staged,
                std::vector<Statement>& writes) {
  Columns made("tbnbb"), grown("tnbnbb");
  for (const auto& [name, ledger] : staged.ledgers()) {
    if (ledger.changes.empty()) continue;
    const uint64_t size = ledger.head->tree.size();
    const std::string root = merkle::ToBytes(ledger.head->tree.Root());
    const std::string head = HeadColumn(*ledger.head);
    if (ledger.stored == nullptr) {
      made.Add(name, DeclarationOf(*ledger.head).dataset(), size, root, head);
    } else {
      const merkle::CompactTree& stored = ledger.stored->tree;
      grown.Add(name, stored.size(), merkle::ToBytes(stored.Root()), size, root, head);
    }
  }
  AddTo(writes, database,
        "INSERT INTO @.ledgers (name, dataset, next_seq, root, head, unsigned)"
        " SELECT n, d, s, r, h, true FROM unnest($1::text[], $2::bytea[],"
        " $3::bigint[], $4::bytea[], $5::bytea[]) AS made (n, d, s, r, h)",
        made);
  if (grown.empty()) return;
  // The commit comes with it: so what must hold is checked there, by a cast that fails.
  writes.push_back(
      {database.Sql("WITH changed AS (UPDATE @.ledgers AS l SET next_seq = g.next_seq,"
                    " root = g.root, head = g.head, unsigned = true"
                    " FROM unnest($1::text[], $2::bigint[], $3::bytea[], $4::bigint[],"
                    " $5::bytea[], $6::bytea[])"
                    " AS g (name, stored_seq, stored_root, next_seq, root, head)"
                    " WHERE l.name = g.name AND l.next_seq = g.stored_seq"
                    " AND l.root = g.stored_root RETURNING l.name)"
                    " SELECT CASE WHEN count(*) = $7 THEN $7"
                    " ELSE CAST('heads changed: ' || count(*)::text AS bigint) END FROM changed"),
       grown.ToValues().Number(grown.rows())});
}

// Entries, the requests that they answer, and their writers.
void WriteEntries(const Database& database, const StagedGroup& staged,
                  std::vector<Statement>& writes) {
  Columns chunks("tnnbb"), requests("ttbb"), statuses("ttb");
  for (const auto& [name, ledger] : staged.ledgers()) {
    std::set<std::string> writers;
    for (const auto& [change, request] : ledger.changes) {
      writers.insert(change->writer.writer());
      for (const Chunk& chunk : ToChunks(change->receipt.first_sequence(), change->entries)) {
        chunks.Add(name, chunk.first_sequence, chunk.count, chunk.body, chunk.body_sha256);
      }
      if (request == nullptr) continue;
      requests.Add(name, request->request_id, merkle::ToBytes(request->hash),
                   change->receipt.SerializeAsString());
    }
    for (const std::string& writer : writers) {
      statuses.Add(name, writer, ledger.head->writers.Find(writer)->SerializeAsString());
    }
  }
  AddTo(writes, database,
        "INSERT INTO @.writers (ledger, writer, status)"
        " SELECT * FROM unnest($1::text[], $2::text[], $3::bytea[])"
        " ON CONFLICT (ledger, writer) DO UPDATE SET status = excluded.status",
        statuses);
  AddTo(writes, database,
        "INSERT INTO @.chunks (ledger, first_seq, n, body, body_sha256)"
        " SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bytea[], $5::bytea[])",
        chunks);
  AddTo(writes, database,
        "INSERT INTO @.requests (ledger, request_id, request_hash, receipt)"
        " SELECT * FROM unnest($1::text[], $2::text[], $3::bytea[], $4::bytea[])",
        requests);
}

// The counts of new ledgers' data sets.
absl::StatusOr<std::vector<Statement>> WriteCounts(Database& database, Connection& connection,
                                                   const StagedGroup& staged) {
  std::map<std::string, uint64_t> made;
  for (const auto& [name, ledger] : staged.ledgers()) {
    if (ledger.stored == nullptr) ++made[DeclarationOf(*ledger.head).dataset()];
  }
  return AddToCounts(database, connection, made);
}

// What writes what the group adds. If another server was faster with a ledger, it fails with
// kTryAgain.
std::vector<Statement> Writes(const Database& database, const StagedGroup& staged, bool promises) {
  std::vector<Statement> writes;
  WriteHeads(database, staged, writes);
  WriteEntries(database, staged, writes);
  // A repeated request gets its old answer, and that must be as durable as it was then.
  if (writes.empty() && promises) writes.push_back(database.Barrier());
  return writes;
}

void BreakLines(std::span<const Operation> group, const Answers& answers) {
  for (size_t i = 0; i < group.size(); ++i) {
    if (!answers[i].ok()) group[i].BreakLine();
  }
}

// All of the group in one transaction. An error: nothing of it is known to be stored.
absl::Status CommitTogether(const CommitWith& with, std::span<const Operation> group,
                            Answers& answers, CommittedGroup& stored) {
  Database& database = with.database;
  LedgerHeads grown;
  std::optional<Database::Answered> answered;
  CommittedGroup added;
  const auto work = [&](Connection& connection) -> absl::StatusOr<std::vector<Statement>> {
    LockedLedgers locked(with.reader);
    RETURN_IF_ERROR(Load(database, connection, group, locked));
    StagedGroup staged(locked, with.now, database.keys().current, with.gate);
    answers.clear();  // the transaction may run again
    for (const Operation& operation : group) answers.push_back(staged.Stage(operation));
    grown.clear();
    answered.reset();
    added = {};
    staged.CountInto(added);
    for (const auto& [name, ledger] : staged.ledgers()) {
      if (ledger.changes.empty()) continue;
      grown.push_back(ledger.head);
      const auto& [change, request] = ledger.changes.back();
      if (request == nullptr || answered.has_value()) continue;
      answered = {name, request->request_id, change->receipt.SerializeAsString()};
    }
    const bool promises =
        std::any_of(answers.begin(), answers.end(), [](const auto& answer) { return answer.ok(); });
    ASSIGN_OR_RETURN(std::vector<Statement> writes, WriteCounts(database, connection, staged));
    for (Statement& write : Writes(database, staged, promises && writes.empty())) {
      writes.push_back(std::move(write));
    }
    return writes;
  };
  try {
    RETURN_IF_ERROR(database.Transact(work));
    stored.entries += added.entries;
    stored.ledgers += added.ledgers;
    for (const auto& head : grown) database.heads().Put(head);
    if (answered.has_value()) database.HasAnswered(*std::move(answered));
  } catch (const std::bad_alloc&) {
    return OutOfMemory();
  }
  BreakLines(group, answers);
  return absl::OkStatus();
}

// Whether nothing could be done for any request, whatever it is.
bool ConcernsAll(const absl::Status& status) {
  return IsUnreachable(status) || ReasonOf(status).reason == kOutcomeUnknown;
}

}  // namespace

Answers CommitGroup(const CommitWith& with, const std::vector<Operation>& group,
                    CommittedGroup& stored) {
  Answers answers;
  absl::Status failed = CommitTogether(with, group, answers, stored);
  if (failed.ok()) return answers;
  answers.clear();
  // Without those that cannot be stored: a ledger that failed once is not asked again.
  std::map<std::string, absl::Status> failed_ledgers;
  for (const Operation& operation : group) {
    const std::span<const Operation> alone(&operation, 1);
    absl::Status status = ConcernsAll(failed) ? failed : absl::OkStatus();
    for (const std::string& ledger : operation.ledgers) {
      const auto known = failed_ledgers.find(ledger);
      if (status.ok() && known != failed_ledgers.end()) status = known->second;
    }
    Answers answer;
    if (status.ok() && group.size() > 1) {
      status = CommitTogether(with, alone, answer, stored);
      if (ConcernsAll(status)) failed = status;
      if (!status.ok()) failed_ledgers[operation.ledgers.front()] = status;
    } else if (status.ok()) {
      status = failed;
    }
    if (!status.ok()) {
      answer = {operation.is_refusal() ? std::get<absl::Status>(operation.request) : status};
      BreakLines(alone, answer);
    }
    answers.push_back(std::move(answer.front()));
  }
  return answers;
}

}  // namespace dpledger::postgres
