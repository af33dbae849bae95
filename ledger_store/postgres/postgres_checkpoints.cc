#include "ledger_store/postgres/postgres_checkpoints.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/absl_view.h"
#include "base/status.h"
#include "events/names.h"
#include "ledger_store/postgres/heads.h"
#include "ledger_store/staging/operation.h"

namespace dpledger::postgres {
namespace {

constexpr size_t kMaxHolderBytes = 512;  // a host's name, a process and a random part

// In front of what need not be on the standby.
Statement WithoutStandby() { return {"SELECT set_config('synchronous_commit', 'off', true)", {}}; }

absl::Status CheckHolder(const std::string& holder) {
  const bool good = !holder.empty() && holder.size() <= kMaxHolderBytes &&
                    std::all_of(holder.begin(), holder.end(),
                                [](unsigned char c) { return absl::ascii_isgraph(c); });
  if (good) return absl::OkStatus();
  return FieldError("holder", "must be 1 to 512 bytes of ASCII without blanks");
}

absl::Status Elsewhere(int64_t epoch, int64_t beat) {
  return WithReason(absl::UnavailableError("another server signs checkpoints at present"),
                    {"SIGNER_ELSEWHERE", {{"beat", absl::StrCat(epoch, ".", beat)}}});
}

int64_t AtMost(size_t limit) {
  return static_cast<int64_t>(std::min<size_t>(limit, size_t{1} << 31));
}

// What the database has of the logs of a publication.
struct StoredLog {
  uint64_t size = 0;  // signed
  std::string checkpoint;
};

std::map<std::string, StoredLog> StoredLogs(const Rows& rows) {
  std::map<std::string, StoredLog> logs;
  for (int row = 0; row < rows.size(); ++row) {
    logs[rows.Bytes(row, 0)] = {rows.Size(row, 1), rows.Bytes(row, 2)};
  }
  return logs;
}

// Whether this very publication was stored by an earlier run whose answer was lost.
bool IsStored(const Publication& publication, uint64_t registry_size,
              const std::map<std::string, StoredLog>& stored) {
  if (registry_size != publication.registry_size + publication.registry_entries.size() ||
      publication.logs.empty()) {
    return false;
  }
  return std::all_of(publication.logs.begin(), publication.logs.end(), [&](const SignedLog& log) {
    const auto found = stored.find(log.log);
    return found != stored.end() && found->second.checkpoint == log.checkpoint.SerializeAsString();
  });
}

// INVALID_ARGUMENT unless the checkpoint follows the log's last one; NOT_FOUND.
absl::Status CheckFollows(const SignedLog& log, const std::map<std::string, uint64_t>& sizes,
                          const std::map<std::string, StoredLog>& stored) {
  const auto entries = sizes.find(log.log);
  if (entries == sizes.end()) return LedgerNotFound(log.log);
  const auto last = stored.find(log.log);
  const uint64_t last_size = last == stored.end() ? 0 : last->second.size;
  const uint64_t size = log.checkpoint.size();
  if (size >= last_size && size <= entries->second) return absl::OkStatus();
  return FieldError("checkpoint.size",
                    absl::StrCat("of ", LogName(log.log), " must be in [", last_size, ", ",
                                 entries->second, "], got ", size));
}

// The statements that write a checked publication.
std::vector<Statement> Writes(const Database& database, const Publication& publication) {
  Columns logs("tnb"), tiles("tnnb"), entries("nb");
  for (const SignedLog& log : publication.logs) {
    logs.Add(log.log, log.checkpoint.size(), log.checkpoint.SerializeAsString());
    for (const auto& [id, hashes] : log.tiles) tiles.Add(log.log, id.level, id.index, hashes);
  }
  uint64_t registry_size = publication.registry_size;
  for (const std::string& entry : publication.registry_entries) entries.Add(registry_size++, entry);
  std::vector<Statement> writes;
  writes.push_back({database.Sql("INSERT INTO @.registry (idx, entry)"
                                 " SELECT * FROM unnest($1::bigint[], $2::bytea[])"),
                    entries.ToValues()});
  writes.push_back(
      {database.Sql("INSERT INTO @.tiles (log, level, idx, hashes) SELECT * FROM"
                    " unnest($1::text[], $2::bigint[], $3::bigint[], $4::bytea[])"
                    " ON CONFLICT (log, level, idx) DO UPDATE SET hashes = excluded.hashes"),
       tiles.ToValues()});
  writes.push_back({database.Sql("INSERT INTO @.checkpoints (log, size, checkpoint)"
                                 " SELECT * FROM unnest($1::text[], $2::bigint[], $3::bytea[])"
                                 " ON CONFLICT (log) DO UPDATE SET"
                                 " size = excluded.size, checkpoint = excluded.checkpoint"),
                    logs.ToValues()});
  // Also the write that a publication of nothing waits for. A beat: who publishes is alive.
  writes.push_back({database.Sql("UPDATE @.signer SET registry_size = $1, beat = beat + 1"
                                 " WHERE id = 1"),
                    Values().Number(registry_size)});
  return writes;
}

}  // namespace

absl::StatusOr<uint64_t> PostgresCheckpoints::AcquireLease(const std::string& holder,
                                                           absl::Duration duration) {
  RETURN_IF_ERROR(CheckHolder(holder));
  if (duration <= absl::ZeroDuration() || duration > absl::Hours(24 * 365)) {
    return FieldError("duration", "must be > 0 and at most a year");
  }
  uint64_t epoch = 0;
  const absl::Status status = database_.Transact([&](Connection& connection)
                                                     -> absl::StatusOr<std::vector<Statement>> {
    // Without a lock: whoever follows does not wait for a publication under way.
    ASSIGN_OR_RETURN(
        const std::vector<Rows> found,
        connection.Run(
            {{database_.Sql("SELECT holder, epoch, beat, released FROM @.signer WHERE id = 1"),
              {}}}));
    if (found[0].size() != 1) return absl::DataLossError("the signer's row is missing");
    const int64_t found_epoch = found[0].Number(0, 1);
    const int64_t found_beat = found[0].Number(0, 2);
    const bool released = found[0].Bool(0, 3);
    const bool own = !released && found[0].View(0, 0) == holder;
    if (!own && !released && UnchangedFor(found_epoch, found_beat) < duration) {
      return Elsewhere(found_epoch, found_beat);
    }
    ASSIGN_OR_RETURN(
        const std::vector<Rows> taken,
        connection.Run(
            {{database_.Sql("UPDATE @.signer SET epoch = epoch + $1,"
                            " beat = beat + 1, holder = $2, released = false"
                            " WHERE id = 1 AND epoch = $3 AND beat = $4"
                            " RETURNING epoch"),
              Values().Number(own ? 0 : 1).Text(holder).Number(found_epoch).Number(found_beat)}}));
    // Another one took it in between.
    if (taken[0].size() != 1) return Elsewhere(found_epoch, found_beat);
    epoch = taken[0].Size(0, 0);
    return std::vector<Statement>();
  });
  RETURN_IF_ERROR(status);
  return epoch;
}

absl::Status PostgresCheckpoints::ReleaseLease(const std::string& holder) {
  RETURN_IF_ERROR(CheckHolder(holder));
  // Who stops does not wait for a standby that is away.
  return database_.Write(
      {WithoutStandby(),
       {database_.Sql("UPDATE @.signer SET released = true WHERE id = 1 AND holder = $1"),
        Values().Text(holder)}});
}

absl::Duration PostgresCheckpoints::UnchangedFor(int64_t epoch, int64_t beat) {
  const absl::Duration now = clock_.Steady();
  absl::MutexLock lock(&mutex_);
  if (other_.epoch != epoch || other_.beat != beat) other_ = {epoch, beat, now};
  return now - other_.seen;
}

absl::StatusOr<UnsignedLedgers> PostgresCheckpoints::Unsigned(const std::string& after,
                                                              size_t limit) {
  UnsignedLedgers unsigned_ledgers;
  for (const char* side : {">", "<="}) {
    const size_t count = unsigned_ledgers.ledgers.size() + unsigned_ledgers.damaged.size();
    if (count >= limit) break;
    std::vector<DamagedLedger> damaged;
    ASSIGN_OR_RETURN(
        const LedgerHeads heads,
        ReadHeads(database_,
                  {database_.Sql(absl::StrCat("SELECT ", kEndColumns,
                                              " FROM @.ledgers WHERE unsigned AND next_seq >"
                                              " coalesce((SELECT size FROM @.checkpoints"
                                              " WHERE log = name), 0) AND name ",
                                              side, " $1 ORDER BY name LIMIT $2")),
                   Values().Text(after).Number(AtMost(limit - count))},
                  &damaged));
    std::string last;
    for (const auto& head : heads) {
      unsigned_ledgers.ledgers.push_back(Describe(*head, kNoWriters));
      last = head->name;
    }
    for (DamagedLedger& ledger : damaged) {
      last = std::max(last, ledger.name);
      unsigned_ledgers.damaged.push_back(std::move(ledger));
    }
    if (!last.empty()) unsigned_ledgers.last = last;
  }
  return unsigned_ledgers;
}

absl::Status PostgresCheckpoints::SetWanted(const std::vector<std::string>& ledgers, bool wanted) {
  return database_.Write(
      // Who waits asks again: what a standby does not have, or somebody has locked, is no loss.
      {WithoutStandby(),
       {database_.Sql(absl::StrCat("UPDATE @.ledgers SET wanted = ", wanted ? "true" : "false",
                                   " WHERE name IN (SELECT name FROM @.ledgers"
                                   " WHERE name = ANY ($1) AND wanted = ",
                                   wanted ? "false" : "true", " FOR UPDATE SKIP LOCKED)")),
        Values().Texts(ledgers)}});
}

absl::Status PostgresCheckpoints::Want(const std::vector<std::string>& ledgers) {
  return SetWanted(ledgers, true);
}

absl::StatusOr<std::vector<std::string>> PostgresCheckpoints::TakeWanted() {
  ASSIGN_OR_RETURN(const Rows found, database_.Read("SELECT name FROM @.ledgers WHERE wanted"));
  std::vector<std::string> ledgers;
  for (int row = 0; row < found.size(); ++row) ledgers.push_back(found.Bytes(row, 0));
  if (!ledgers.empty()) RETURN_IF_ERROR(SetWanted(ledgers, false));
  return ledgers;
}

absl::Status PostgresCheckpoints::Publish(const Publication& publication) {
  std::set<std::string> seen;
  for (const SignedLog& log : publication.logs) {
    if (log.log != kRegistryLog && !events::CheckLedgerName("log", log.log).ok()) {
      return LedgerNotFound(log.log);
    }
    if (!seen.insert(log.log).second) {
      return FieldError("logs", absl::StrCat("must name ", LogName(log.log), " only once"));
    }
  }
  bool repeated = false;
  const auto store = [&](Connection& connection) {
    return Store(connection, publication, std::exchange(repeated, true));
  };
  RETURN_IF_ERROR(database_.Transact(store));
  ClearSigned();
  absl::MutexLock lock(&mutex_);
  durable_registry_size_ = std::max(
      durable_registry_size_, publication.registry_size + publication.registry_entries.size());
  return absl::OkStatus();
}

void PostgresCheckpoints::ClearSigned() {
  // Waits for no standby with the heads locked: unsigned may be true without need. A head that
  // somebody has locked is written to, and so is to be signed again.
  const absl::Status cleared = database_.Write(
      {WithoutStandby(),
       {database_.Sql("UPDATE @.ledgers SET unsigned = false WHERE unsigned AND name IN"
                      " (SELECT l.name FROM @.ledgers AS l JOIN @.checkpoints AS c"
                      " ON c.log = l.name WHERE l.unsigned AND l.next_seq <= c.size"
                      " FOR UPDATE OF l SKIP LOCKED)"),
        {}}});
  cleared.IgnoreError();  // the next publication does it
}

absl::StatusOr<std::vector<Statement>> PostgresCheckpoints::Store(Connection& connection,
                                                                  const Publication& publication,
                                                                  bool repeated) const {
  std::vector<std::string> logs;
  for (const SignedLog& log : publication.logs) logs.push_back(log.log);
  // Locks the signer's row alone: a commit waits for the standby, and appends must not wait with
  // it. A head that has grown since it was read can only have more entries, so that a publication
  // is refused too often at worst.
  ASSIGN_OR_RETURN(
      const std::vector<Rows> found,
      connection.Run(
          {{database_.Sql("SELECT name, next_seq FROM @.ledgers WHERE name = ANY ($1)"),
            Values().Texts(logs)},
           {database_.Sql("SELECT epoch, registry_size FROM @.signer WHERE id = 1 FOR UPDATE"), {}},
           {database_.Sql("SELECT log, size, checkpoint FROM @.checkpoints WHERE log = ANY ($1)"),
            Values().Texts(logs)}}));
  if (found[1].size() != 1) return absl::DataLossError("the signer's row is missing");
  const auto epoch = found[1].Size(0, 0);
  const auto registry_size = found[1].Size(0, 1);
  const std::map<std::string, StoredLog> stored = StoredLogs(found[2]);
  if (epoch != publication.lease_epoch) {
    return SignerReplaced(absl::StrCat("lease_epoch: another signer has taken over in epoch ",
                                       epoch, ", got ", publication.lease_epoch));
  }
  if (repeated && IsStored(publication, registry_size, stored)) {
    return std::vector<Statement>{database_.Barrier()};
  }
  if (registry_size != publication.registry_size) {
    return SignerReplaced(absl::StrCat("registry_size: the registry has ", registry_size,
                                       " entries, got ", publication.registry_size));
  }
  std::map<std::string, uint64_t> sizes = {
      {kRegistryLog, registry_size + publication.registry_entries.size()}};
  for (int row = 0; row < found[0].size(); ++row) {
    sizes[found[0].Bytes(row, 0)] = found[0].Size(row, 1);
  }
  for (const SignedLog& log : publication.logs) {
    RETURN_IF_ERROR(CheckFollows(log, sizes, stored));
  }
  return Writes(database_, publication);
}

absl::StatusOr<v1::StoredCheckpoint> PostgresCheckpoints::Latest(const std::string& log) {
  RETURN_IF_ERROR(CheckLog(log));
  ASSIGN_OR_RETURN(const auto found, ReadLatest(" WHERE c.log = $1", Values().Text(log)));
  if (found.empty())
    return absl::NotFoundError(absl::StrCat(LogName(log), ": has no checkpoint yet"));
  const v1::StoredCheckpoint& checkpoint = found.begin()->second;
  if (log != kRegistryLog) return checkpoint;
  std::string bytes = checkpoint.SerializeAsString();
  {
    absl::MutexLock lock(&mutex_);
    if (bytes == durable_registry_) return checkpoint;
  }
  RETURN_IF_ERROR(database_.AwaitStandby());
  absl::MutexLock lock(&mutex_);
  durable_registry_size_ = std::max(durable_registry_size_, checkpoint.size());
  durable_registry_ = std::move(bytes);
  return checkpoint;
}

absl::StatusOr<std::map<std::string, v1::StoredCheckpoint>> PostgresCheckpoints::LatestOfAll() {
  return ReadLatest("", Values());
}

absl::StatusOr<std::map<std::string, v1::StoredCheckpoint>> PostgresCheckpoints::ReadLatest(
    std::string_view where, const Values& values) {
  ASSIGN_OR_RETURN(const Rows rows,
                   database_.Read(absl::StrCat("SELECT c.log, c.checkpoint, s.registry_size FROM"
                                               " @.checkpoints AS c JOIN @.signer AS s ON s.id = 1",
                                               ToAbsl(where)),
                                  values));
  std::map<std::string, v1::StoredCheckpoint> found;
  uint64_t greatest_index = 0, registry_size = 0;
  for (int row = 0; row < rows.size(); ++row) {
    const std::string ledger = rows.Bytes(row, 0);
    v1::StoredCheckpoint& checkpoint = found[ledger];
    if (!checkpoint.ParseFromString(rows.Bytes(row, 1))) {
      return absl::DataLossError(absl::StrCat(LogName(ledger), ": its checkpoint does not parse"));
    }
    greatest_index = std::max(greatest_index, checkpoint.registry_index());
    registry_size = rows.Size(row, 2);
  }
  RETURN_IF_ERROR(AwaitRegistry(greatest_index, registry_size));
  return found;
}

absl::Status PostgresCheckpoints::AwaitRegistry(uint64_t index, uint64_t registry_size) {
  {
    absl::MutexLock lock(&mutex_);
    if (index < durable_registry_size_) return absl::OkStatus();
  }
  RETURN_IF_ERROR(database_.AwaitStandby());
  absl::MutexLock lock(&mutex_);
  durable_registry_size_ = std::max(durable_registry_size_, registry_size);
  return absl::OkStatus();
}

absl::StatusOr<std::string> PostgresCheckpoints::ReadTile(const std::string& log,
                                                          const merkle::TileId& tile) {
  RETURN_IF_ERROR(CheckLog(log));
  if (tile.index < merkle::kMaxTreeSize) {
    ASSIGN_OR_RETURN(
        const Rows rows,
        database_.Read("SELECT hashes FROM @.tiles WHERE log = $1 AND level = $2 AND idx = $3",
                       Values().Text(log).Number(tile.level).Number(tile.index)));
    if (rows.size() == 1) return rows.Bytes(0, 0);
  }
  return absl::NotFoundError(
      absl::StrCat(LogName(log), ": has no tile of level ", tile.level, " and index ", tile.index));
}

absl::StatusOr<std::vector<std::string>> PostgresCheckpoints::ReadRegistry(uint64_t first,
                                                                           size_t max_entries) {
  if (first >= merkle::kMaxTreeSize) return std::vector<std::string>();
  ASSIGN_OR_RETURN(
      const Rows rows,
      database_.Read("SELECT idx, entry FROM @.registry WHERE idx >= $1 ORDER BY idx LIMIT $2",
                     Values().Number(first).Number(AtMost(max_entries))));
  std::vector<std::string> entries;
  for (int row = 0; row < rows.size(); ++row) {
    const uint64_t next = first + entries.size();
    if (rows.Size(row, 0) != next) return EntryMissing(LogName(kRegistryLog), next);
    entries.push_back(rows.Bytes(row, 1));
  }
  return entries;
}

absl::Status PostgresCheckpoints::CheckLog(const std::string& log) const {
  if (log == kRegistryLog) return absl::OkStatus();
  if (!events::CheckLedgerName("log", log).ok()) return LedgerNotFound(log);
  ASSIGN_OR_RETURN(const Rows rows,
                   database_.Read("SELECT 1 FROM @.ledgers WHERE name = $1", Values().Text(log)));
  return rows.size() == 1 ? absl::OkStatus() : LedgerNotFound(log);
}

}  // namespace dpledger::postgres
