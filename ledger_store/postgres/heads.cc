#include "ledger_store/postgres/heads.h"

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "dpledger/v1/ledger.pb.h"
#include "dpledger/v1/stored.pb.h"
#include "ledger_store/postgres/dataset_counts.h"
#include "ledger_store/postgres/entries.h"
#include "ledger_store/postgres/texts.h"
#include "ledger_store/staging/operation.h"

namespace dpledger::postgres {
namespace {

// Of a head that is so much behind, or more, the writers are read again instead of the entries.
constexpr uint64_t kMostCaughtUp = 4096;

// Where a ledger ends.
struct End {
  std::string name;
  uint64_t size = 0;
  std::string root;
  std::string head;  // the column
};

// Of many ledgers those with few writers are read whole, in one statement for all.
constexpr int kFewLedgers = 16;
constexpr size_t kFewWriters = 64;

bool MayCatchUp(const LedgerHead& head, const End& end, int ledgers) {
  return head.tree.size() < end.size && end.size - head.tree.size() <= kMostCaughtUp &&
         (ledgers <= kFewLedgers || head.writers.size() > kFewWriters);
}

bool IsAt(const LedgerHead& head, const End& end) {
  return head.tree.size() == end.size && merkle::ToBytes(head.tree.Root()) == end.root;
}

absl::Status Damaged(const std::string& ledger, const std::string& what) {
  return absl::DataLossError(absl::StrCat(ledger, ": ", what));
}

// A ledger, in one snapshot: its row and where its entries end, then one for each writer. Entry 0
// is read where the entries are.
constexpr char kWholeHeads[] =
    "SELECT name, head, NULL AS writer, next_seq, root,"
    " (SELECT c.body FROM @.chunks AS c WHERE c.ledger = name AND c.first_seq = 0),"
    " (SELECT c.body_sha256 FROM @.chunks AS c WHERE c.ledger = name AND c.first_seq = 0),"
    " (SELECT c.first_seq + c.n FROM @.chunks AS c WHERE c.ledger = name"
    " ORDER BY c.first_seq DESC LIMIT 1), dataset"
    " FROM @.ledgers WHERE name = ANY ($1) UNION ALL"
    " SELECT ledger, status, convert_to(writer, 'UTF8'), NULL, NULL, NULL, NULL, NULL, NULL"
    " FROM @.writers WHERE ledger = ANY ($1)";

struct WholeHead {
  std::optional<int> row;
  std::vector<int> writers;
};

// The writers of a ledger, from their rows.
absl::StatusOr<std::map<std::string, v1::WriterStatus>> WritersFromRows(const std::string& name,
                                                                        const Rows& rows,
                                                                        const WholeHead& whole) {
  std::map<std::string, v1::WriterStatus> writers;
  for (const int of_writer : whole.writers) {
    v1::WriterStatus writer;
    if (!writer.ParseFromString(rows.Bytes(of_writer, 1)) ||
        writer.writer() != rows.View(of_writer, 2)) {
      return Damaged(name, "its writers do not parse");
    }
    std::string writer_name = writer.writer();
    writers[std::move(writer_name)] = std::move(writer);
  }
  return writers;
}

struct ReadHeadRow {
  std::shared_ptr<const LedgerHead> head;
  bool is_current = false;  // the current key made the authenticator that is stored
};

absl::StatusOr<ReadHeadRow> HeadFromRows(const std::string& name, const Rows& rows,
                                         const WholeHead& whole, const HeadKeys& keys) {
  if (!whole.row.has_value()) return Damaged(name, "it has writers, but no head");
  const int row = *whole.row;
  v1::StoredHead stored;
  if (!stored.ParseFromString(rows.Bytes(row, 1))) return Damaged(name, "its head does not parse");
  ASSIGN_OR_RETURN(auto writers, WritersFromRows(name, rows, whole));
  if (rows.IsNull(row, 5) || rows.IsNull(row, 6)) return Damaged(name, "entry 0 is missing");
  const auto chunk = FromChunk(rows.View(row, 5), rows.View(row, 6), 1);
  if (!chunk.ok()) return Damaged(name, "entry 0 is damaged");
  ASSIGN_OR_RETURN(LedgerHead head, FromStored(name, chunk->front(), stored, writers, keys));
  const End end = {name, rows.Size(row, 3), rows.Bytes(row, 4), {}};
  if (!IsAt(head, end)) return Damaged(name, "its head has another size or root than its row");
  if (rows.Size(row, 7) != end.size) {
    return Damaged(name, absl::StrCat("its head counts ", end.size, " entries, its entries end at ",
                                      rows.Number(row, 7)));
  }
  if (rows.View(row, 8) != DeclarationOf(head).dataset()) {
    return Damaged(name, "its row names another data set than its declaration");
  }
  const bool is_current = IsCurrent(stored, head);
  return ReadHeadRow{std::make_shared<const LedgerHead>(std::move(head)), is_current};
}

// The heads of the ledgers of these names, whatever this server has seen of them. Leaves out what
// is not there.
absl::StatusOr<std::vector<ReadHeadRow>> ReadWholeHeads(Database& database, const Ask& ask,
                                                        const std::vector<std::string>& names,
                                                        std::vector<DamagedLedger>* damaged) {
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
  std::vector<ReadHeadRow> read;
  const HeadKeys keys = database.keys();
  for (const auto& [name, whole] : heads) {
    absl::StatusOr<ReadHeadRow> head = HeadFromRows(name, rows, whole, keys);
    if (damaged != nullptr && absl::IsDataLoss(head.status())) {
      damaged->push_back({name, head.status()});
      continue;
    }
    RETURN_IF_ERROR(head.status());
    database.heads().Put(head->head);
    read.push_back(*std::move(head));
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
                         Values().Text(end.name).Number(known).Number(end.size)}}));
  std::set<std::string> names;
  for (int row = 0; row < chunks[0].size(); ++row) {
    const auto entries =
        FromChunk(chunks[0].View(row, 2), chunks[0].View(row, 3), chunks[0].Size(row, 1));
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
    const std::optional<v1::WriterStatus> before = head.writers.Find(writer.writer());
    added += writer.entry_count() - (before.has_value() ? before->entry_count() : 0);
    head.writers.Put(writer);
  }
  if (!names.empty() || added != end.size - known) return false;
  // One that another key authenticated is read whole.
  return head.writers.key() == nullptr || HeadColumn(head) == end.head;
}

constexpr int64_t kPageLedgers = 500;

struct Page {
  std::string last;    // the name of its last ledger; empty: there are no more
  uint64_t heads = 0;  // that were written anew
};

// The ledgers after `after`, in the open transaction.
absl::StatusOr<std::vector<Statement>> RenewPage(Database& database, Connection& connection,
                                                 const std::string& after, Page& page) {
  page = {};
  ASSIGN_OR_RETURN(const std::vector<Rows> found,
                   connection.Run({{database.Sql("SELECT name FROM @.ledgers WHERE name > $1"
                                                 " ORDER BY name LIMIT $2 FOR UPDATE"),
                                    Values().Text(after).Number(kPageLedgers)}}));
  std::vector<std::string> names;
  for (int row = 0; row < found[0].size(); ++row) names.push_back(found[0].Bytes(row, 0));
  if (names.empty()) return std::vector<Statement>();
  ASSIGN_OR_RETURN(const std::vector<ReadHeadRow> heads,
                   ReadWholeHeads(database, In(connection), names, nullptr));
  Columns renewed("tb");
  page.last = names.back();
  for (const ReadHeadRow& read : heads) {
    if (read.is_current) continue;
    renewed.Add(read.head->name, HeadColumn(*read.head));
    ++page.heads;
  }
  if (renewed.empty()) return std::vector<Statement>();
  return std::vector<Statement>{
      {database.Sql("UPDATE @.ledgers AS l SET head = g.head"
                    " FROM unnest($1::text[], $2::bytea[]) AS g (name, head)"
                    " WHERE l.name = g.name"),
       renewed.ToValues()}};
}

absl::StatusOr<uint64_t> RenewAll(Database& database) {
  uint64_t heads = 0;
  std::string after;
  while (true) {
    Page page;
    RETURN_IF_ERROR(database.Transact(
        [&](Connection& connection) { return RenewPage(database, connection, after, page); }));
    if (page.last.empty()) return heads;
    heads += page.heads;
    after = page.last;
  }
}

}  // namespace

Ask In(Connection& connection) {
  return [&connection](std::vector<Statement> statements) {
    return connection.Run(std::move(statements));
  };
}

absl::StatusOr<LedgerHeads> ReadHeads(Database& database, const Ask& ask, const Rows& ends,
                                      std::vector<DamagedLedger>* damaged) {
  LedgerHeads heads;
  std::vector<End> wanted;
  std::vector<std::string> unknown;
  for (int row = 0; row < ends.size(); ++row) {
    const End& end = wanted.emplace_back(
        End{ends.Bytes(row, 0), ends.Size(row, 1), ends.Bytes(row, 2), ends.Bytes(row, 3)});
    std::shared_ptr<const LedgerHead>& head = heads.emplace_back(database.heads().Find(end.name));
    if (head != nullptr && IsAt(*head, end)) continue;
    if (head != nullptr && MayCatchUp(*head, end, ends.size())) {
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
  ASSIGN_OR_RETURN(const std::vector<ReadHeadRow> whole,
                   ReadWholeHeads(database, ask, unknown, damaged));
  std::map<std::string, std::shared_ptr<const LedgerHead>> by_name;
  for (const ReadHeadRow& read : whole) by_name[read.head->name] = read.head;
  // A null head: it is damaged.
  if (damaged != nullptr) {
    for (const DamagedLedger& ledger : *damaged) by_name[ledger.name] = nullptr;
  }
  for (size_t i = 0; i < heads.size(); ++i) {
    if (heads[i] != nullptr) continue;
    const auto found = by_name.find(wanted[i].name);
    if (found == by_name.end()) return LedgerNotFound(wanted[i].name);
    heads[i] = found->second;
  }
  std::erase(heads, nullptr);
  return heads;
}

absl::StatusOr<LedgerHeads> ReadHeads(Database& database, const Statement& statement,
                                      std::vector<DamagedLedger>* damaged) {
  const Ask ask = [&database](const std::vector<Statement>& statements) {
    return database.Read(statements);
  };
  ASSIGN_OR_RETURN(const std::vector<Rows> ends, ask({statement}));
  return ReadHeads(database, ask, ends[0], damaged);
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

absl::StatusOr<uint64_t> RenewHeads(Database& database) {
  if (database.keys().current == nullptr) return 0;
  uint64_t heads = 0;
  if (database.keys().previous != nullptr) {
    ASSIGN_OR_RETURN(heads, RenewAll(database));
    RETURN_IF_ERROR(database.Transact(
        [&](Connection& connection) { return RenewCounts(database, connection); }));
    RETURN_IF_ERROR(database.Transact(
        [&](Connection& connection) { return RenewTexts(database, connection); }));
  }
  RETURN_IF_ERROR(CheckCounts(database));
  return heads;
}

absl::StatusOr<ChangedLedgers> ReadChanged(Database& database, uint64_t since, size_t limit,
                                           const KnownSizes& known) {
  // In this order: a ledger that is signed after the first statement has read is in the registry
  // of the second, or in that of the next call.
  ASSIGN_OR_RETURN(
      const std::vector<Rows> found,
      database.Read({{database.Sql("SELECT name, next_seq FROM @.ledgers WHERE unsigned"), {}},
                     {database.Sql("SELECT entry FROM @.registry WHERE idx >= $1 AND idx < $2"),
                      Values().Number(since).Number(since + limit)}}));
  std::set<std::string> names;
  const auto take = [&](const std::string& name, uint64_t size) {
    if (!known || known(name) < size) names.insert(name);
  };
  for (int row = 0; row < found[0].size(); ++row)
    take(found[0].Bytes(row, 0), found[0].Size(row, 1));
  for (int row = 0; row < found[1].size(); ++row) {
    v1::LedgerEntry entry;
    if (!entry.ParseFromString(found[1].Bytes(row, 0))) {
      return absl::DataLossError("the registry: an entry does not parse");
    }
    if (entry.has_registered())
      take(NameFromOrigin(entry.registered().origin()), entry.registered().size());
  }
  ChangedLedgers changed;
  if (!names.empty()) {
    ASSIGN_OR_RETURN(changed.heads,
                     ReadHeads(database,
                               {database.Sql(absl::StrCat("SELECT ", kEndColumns,
                                                          " FROM @.ledgers WHERE name = ANY ($1)")),
                                Values().Texts({names.begin(), names.end()})},
                               &changed.damaged));
  }
  const auto entries = static_cast<uint64_t>(found[1].size());
  changed.next = since + entries;
  changed.more = entries == limit;
  return changed;
}

absl::StatusOr<uint64_t> ReadChangesEnd(Database& database) {
  ASSIGN_OR_RETURN(const Rows found,
                   database.Read("SELECT coalesce(max(idx) + 1, 0) FROM @.registry"));
  return found.Size(0, 0);
}

}  // namespace dpledger::postgres
