#include "ledger_store/postgres/heads.h"

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "dpledger/v1/ledger.pb.h"
#include "dpledger/v1/stored.pb.h"
#include "ledger_store/postgres/chunk.h"
#include "ledger_store/staging/operation.h"
#include "merkle/sha256.h"

namespace dpledger::postgres {
namespace {

// Of a head that is so much behind, or more, the writers are read again instead of the entries.
constexpr uint64_t kMostCaughtUp = 4096;

// Where a ledger ends.
struct End {
  std::string name;
  uint64_t size = 0;
  std::string root;
};

bool IsAt(const LedgerHead& head, const End& end) {
  return head.tree.size() == end.size && merkle::ToBytes(head.tree.Root()) == end.root;
}

absl::Status Damaged(const std::string& ledger, const char* what) {
  return absl::DataLossError(absl::StrCat(ledger, ": ", what));
}

// A ledger, in one snapshot: its row, then one for each writer. Entry 0 is read where the entries
// are: the copy in the column first_entry, which servers may update, is not believed.
constexpr char kWholeHeads[] =
    "SELECT name, head, writers, next_seq, root,"
    " (SELECT c.body FROM @.chunks AS c WHERE c.ledger = name AND c.first_seq = 0),"
    " (SELECT c.body_sha256 FROM @.chunks AS c WHERE c.ledger = name AND c.first_seq = 0)"
    " FROM @.ledgers WHERE name = ANY ($1) UNION ALL"
    " SELECT ledger, status, convert_to(writer, 'UTF8'), NULL, NULL, NULL, NULL FROM @.writers "
    "WHERE ledger = ANY ($1)";

struct WholeHead {
  std::optional<int> row;
  std::vector<int> writers;
};

absl::StatusOr<LedgerHead> HeadFromRows(const std::string& name, const Rows& rows,
                                        const WholeHead& whole) {
  if (!whole.row.has_value()) return Damaged(name, "it has writers, but no head");
  const int row = *whole.row;
  v1::LedgerEntry first;
  v1::StoredHead stored;
  v1::Ledger older;
  if (!stored.ParseFromString(rows.Bytes(row, 1))) return Damaged(name, "its head does not parse");
  if (!older.ParseFromString(rows.Bytes(row, 2))) return Damaged(name, "its writers do not parse");
  if (rows.IsNull(row, 5) || rows.IsNull(row, 6)) return Damaged(name, "entry 0 is missing");
  const auto chunk = FromChunk(rows.View(row, 5), rows.View(row, 6), 1);
  if (!chunk.ok() || !first.ParseFromString(std::string(chunk->front()))) {
    return Damaged(name, "entry 0 is damaged");
  }
  std::map<std::string, v1::WriterStatus> writers;
  for (v1::WriterStatus& writer : *older.mutable_writers()) {
    std::string writer_name = writer.writer();
    writers[std::move(writer_name)] = std::move(writer);
  }
  for (const int of_writer : whole.writers) {
    v1::WriterStatus writer;
    if (!writer.ParseFromString(rows.Bytes(of_writer, 1)) ||
        writer.writer() != rows.View(of_writer, 2)) {
      return Damaged(name, "its writers do not parse");
    }
    std::string writer_name = writer.writer();
    writers[std::move(writer_name)] = std::move(writer);
  }
  ASSIGN_OR_RETURN(LedgerHead head, FromStored(name, first, stored, std::move(writers)));
  if (!IsAt(head, {name, static_cast<uint64_t>(rows.Number(row, 3)), rows.Bytes(row, 4)})) {
    return Damaged(name, "its head has another size or root than its row");
  }
  return head;
}

using HeadsByName = std::map<std::string, std::shared_ptr<const LedgerHead>>;

absl::StatusOr<HeadsByName> ReadWhole(Database& database, const Ask& ask,
                                      const std::vector<std::string>& names) {
  ASSIGN_OR_RETURN(const std::vector<Rows> found,
                   ask({{database.Sql(kWholeHeads), Values().Texts(names)}}));
  const Rows& rows = found[0];
  std::map<std::string, WholeHead> heads;
  for (int row = 0; row < rows.size(); ++row) {
    WholeHead& head = heads[rows.Bytes(row, 0)];
    if (rows.IsNull(row, 3)) {
      head.writers.push_back(row);
    } else {
      head.row = row;
    }
  }
  HeadsByName read;
  for (const auto& [name, whole] : heads) {
    ASSIGN_OR_RETURN(LedgerHead head, HeadFromRows(name, rows, whole));
    auto& shared = read[name] = std::make_shared<const LedgerHead>(std::move(head));
    database.heads().Put(shared);
  }
  return read;
}

// Moves the head to the end over what others have added: by the entries, whose hashes must lead
// there, and by the rows of the writers that they name. False if that does not work out: then the
// ledger has gone back and grown anew, or goes on now.
absl::StatusOr<bool> CatchUp(Database& database, const Ask& ask, const End& end, LedgerHead& head) {
  const uint64_t known = head.tree.size();
  ASSIGN_OR_RETURN(const std::vector<Rows> chunks,
                   ask({{database.Sql("SELECT first_seq, n, body, body_sha256 FROM @.chunks"
                                      " WHERE ledger = $1 AND first_seq >= $2 AND first_seq < $3"
                                      " ORDER BY first_seq"),
                         Values()
                             .Text(end.name)
                             .Number(static_cast<int64_t>(known))
                             .Number(static_cast<int64_t>(end.size))}}));
  std::set<std::string> names;
  for (int row = 0; row < chunks[0].size(); ++row) {
    const auto entries = FromChunk(chunks[0].View(row, 2), chunks[0].View(row, 3),
                                   static_cast<uint64_t>(chunks[0].Number(row, 1)));
    if (!entries.ok()) return false;
    for (const std::string_view bytes : *entries) {
      v1::LedgerEntry entry;
      if (!entry.ParseFromString(std::string(bytes))) return false;
      head.tree.Append(merkle::LeafHash(bytes));
      head.last_recorded_time = absl::FromUnixSeconds(entry.recorded_time().seconds());
      if (entry.has_seal()) head.state = v1::SEALED;
      names.insert(entry.writer());
    }
  }
  if (!IsAt(head, end)) return false;
  ASSIGN_OR_RETURN(
      const std::vector<Rows> rows,
      ask({{database.Sql("SELECT status FROM @.writers WHERE ledger = $1 AND writer = ANY ($2)"),
            Values().Text(end.name).Texts({names.begin(), names.end()})}}));
  uint64_t added = 0;
  for (int row = 0; row < rows[0].size(); ++row) {
    v1::WriterStatus writer;
    if (!writer.ParseFromString(rows[0].Bytes(row, 0)) || names.erase(writer.writer()) != 1) {
      return false;
    }
    const v1::WriterStatus* const before = head.writers.Find(writer.writer());
    added += writer.entry_count() - (before == nullptr ? 0 : before->entry_count());
    head.writers.Put(std::move(writer));
  }
  return names.empty() && added == end.size - known;
}

}  // namespace

absl::StatusOr<LedgerHeads> ReadHeads(Database& database, const Ask& ask, const Rows& ends) {
  LedgerHeads heads;
  std::vector<End> wanted;
  std::vector<std::string> unknown;
  for (int row = 0; row < ends.size(); ++row) {
    const End& end = wanted.emplace_back(
        End{ends.Bytes(row, 0), static_cast<uint64_t>(ends.Number(row, 1)), ends.Bytes(row, 2)});
    std::shared_ptr<const LedgerHead>& head = heads.emplace_back(database.heads().Find(end.name));
    if (head != nullptr && IsAt(*head, end)) continue;
    if (head != nullptr && head->tree.size() < end.size &&
        end.size - head->tree.size() <= kMostCaughtUp) {
      auto next = std::make_shared<LedgerHead>(*head);
      ASSIGN_OR_RETURN(const bool caught_up, CatchUp(database, ask, end, *next));
      if (caught_up) {
        head = std::move(next);
        database.heads().Put(head);
        continue;
      }
    }
    head = nullptr;
    unknown.push_back(end.name);
  }
  if (unknown.empty()) return heads;
  ASSIGN_OR_RETURN(const HeadsByName whole, ReadWhole(database, ask, unknown));
  for (size_t i = 0; i < heads.size(); ++i) {
    if (heads[i] != nullptr) continue;
    const auto found = whole.find(wanted[i].name);
    if (found == whole.end()) return LedgerNotFound(wanted[i].name);
    heads[i] = found->second;
  }
  return heads;
}

absl::StatusOr<LedgerHeads> ReadHeads(Database& database, const Statement& statement) {
  const Ask ask = [&database](const std::vector<Statement>& statements) {
    return database.Read(statements);
  };
  ASSIGN_OR_RETURN(const std::vector<Rows> ends, ask({statement}));
  return ReadHeads(database, ask, ends[0]);
}

absl::StatusOr<std::shared_ptr<const LedgerHead>> ReadHead(Database& database,
                                                           const std::string& name) {
  ASSIGN_OR_RETURN(
      const LedgerHeads heads,
      ReadHeads(database, {database.Sql(absl::StrCat("SELECT ", kEndColumns,
                                                     " FROM @.ledgers WHERE name = $1")),
                           Values().Text(name)}));
  if (heads.empty()) return LedgerNotFound(name);
  return heads.front();
}

std::string HeadColumn(const LedgerHead& head) { return ToStored(head).SerializeAsString(); }

}  // namespace dpledger::postgres
