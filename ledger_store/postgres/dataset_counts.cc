#include "ledger_store/postgres/dataset_counts.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace dpledger::postgres {
namespace {

absl::Status Damaged(const std::string& dataset, const std::string& what) {
  return absl::DataLossError(
      absl::StrCat("the count of the ledgers that declare the data set \"", dataset, "\": ", what));
}

std::string CodeOf(const HeadKeys& keys, const std::string& dataset, uint64_t ledgers) {
  if (keys.current == nullptr) return "";
  return keys.current->Of({"dataset", dataset, absl::StrCat(ledgers)});
}

// Columns: dataset, ledgers, code.
constexpr char kColumns[] = "dataset, ledgers, code";

// `least`: what the count was, at the least, before it was read.
absl::StatusOr<uint64_t> CountOf(Database& database, const Rows& rows, int row,
                                 uint64_t least = 0) {
  const std::string dataset = rows.Bytes(row, 0);
  const auto ledgers = rows.Size(row, 1);
  const HeadKeys keys = database.keys();
  if (keys.current == nullptr) return ledgers;
  const auto holds = [&](const merkle::Authenticator* key) {
    return key != nullptr &&
           key->Holds(rows.View(row, 2), {"dataset", dataset, absl::StrCat(ledgers)});
  };
  if (!holds(keys.current.get()) && !holds(keys.previous.get())) {
    return Damaged(dataset, "no server with this signing key made it");
  }
  if (ledgers < least) {
    return Damaged(dataset, absl::StrCat("it went back from ", least, " to ", ledgers));
  }
  database.counts().See(dataset, ledgers);
  return ledgers;
}

Statement ReadCount(const Database& database, const std::string& dataset) {
  return {database.Sql(absl::StrCat("SELECT ", kColumns, " FROM @.datasets WHERE dataset = $1")),
          Values().Bytes(dataset)};
}

// What writes these counts, all of which are there, or none.
Statement Write(const Database& database, const std::map<std::string, uint64_t>& counts,
                bool are_new) {
  Columns rows("bnb");
  for (const auto& [dataset, count] : counts)
    rows.Add(dataset, count, CodeOf(database.keys(), dataset, count));
  // A new one fails if another server was faster.
  return {database.Sql(are_new ? "INSERT INTO @.datasets (dataset, ledgers, code)"
                                 " SELECT * FROM unnest($1::bytea[], $2::bigint[], $3::bytea[])"
                               : "UPDATE @.datasets AS d SET ledgers = g.ledgers, code = g.code"
                                 " FROM unnest($1::bytea[], $2::bigint[], $3::bytea[])"
                                 " AS g (dataset, ledgers, code) WHERE d.dataset = g.dataset"),
          rows.ToValues()};
}

}  // namespace

absl::StatusOr<uint64_t> CountDeclaring(Database& database, const std::string& dataset) {
  const uint64_t least = database.counts().Greatest(dataset);
  ASSIGN_OR_RETURN(
      const std::vector<Rows> found,
      database.Read({ReadCount(database, dataset),
                     {database.Sql("SELECT 1 FROM @.ledgers WHERE dataset = $1 LIMIT 1"),
                      Values().Bytes(dataset)}}));
  if (found[0].size() == 1) return CountOf(database, found[0], 0, least);
  if (found[1].size() == 0 && least == 0) return 0;
  // A ledger that was made between the two looks is counted by now.
  ASSIGN_OR_RETURN(const std::vector<Rows> again, database.Read({ReadCount(database, dataset)}));
  if (again[0].size() == 1) return CountOf(database, again[0], 0, least);
  return Damaged(dataset, "it is missing");
}

absl::StatusOr<std::vector<Statement>> AddToCounts(Database& database, Connection& connection,
                                                   const std::map<std::string, uint64_t>& made) {
  std::vector<Statement> writes;
  if (made.empty()) return writes;
  std::vector<std::string> datasets;
  std::map<std::string, uint64_t> least;
  for (const auto& [dataset, count] : made) {
    datasets.push_back(dataset);
    least[dataset] = database.counts().Greatest(dataset);
  }
  ASSIGN_OR_RETURN(
      const std::vector<Rows> rows,
      connection.Run(
          {{database.Sql(absl::StrCat("SELECT ", kColumns,
                                      " FROM @.datasets WHERE dataset = ANY ($1)"
                                      " ORDER BY dataset FOR UPDATE")),
            Values().ListOfBytes(datasets)},
           {database.Sql("SELECT w.dataset FROM unnest($1::bytea[]) AS w (dataset) WHERE EXISTS"
                         " (SELECT 1 FROM @.ledgers AS l WHERE l.dataset = w.dataset)"
                         " AND NOT EXISTS"
                         " (SELECT 1 FROM @.datasets AS d WHERE d.dataset = w.dataset)"),
            Values().ListOfBytes(datasets)}}));
  if (rows[1].size() > 0 && database.keys().current != nullptr) {
    return Damaged(rows[1].Bytes(0, 0), "it is missing");
  }
  std::map<std::string, uint64_t> first = made;
  std::map<std::string, uint64_t> more;
  for (int row = 0; row < rows[0].size(); ++row) {
    ASSIGN_OR_RETURN(const uint64_t count,
                     CountOf(database, rows[0], row, least[rows[0].Bytes(row, 0)]));
    const auto added = first.extract(rows[0].Bytes(row, 0));
    more[added.key()] = count + added.mapped();
  }
  if (!first.empty()) writes.push_back(Write(database, first, /*are_new=*/true));
  if (!more.empty()) writes.push_back(Write(database, more, /*are_new=*/false));
  return writes;
}

absl::StatusOr<std::vector<Statement>> RenewCounts(Database& database, Connection& connection) {
  std::map<std::string, uint64_t> counts;
  ASSIGN_OR_RETURN(
      const std::vector<Rows> rows,
      connection.Run({{database.Sql(absl::StrCat("SELECT ", kColumns,
                                                 " FROM @.datasets ORDER BY dataset FOR UPDATE")),
                       {}}}));
  for (int row = 0; row < rows[0].size(); ++row) {
    ASSIGN_OR_RETURN(const uint64_t count, CountOf(database, rows[0], row));
    counts[rows[0].Bytes(row, 0)] = count;
  }
  return std::vector<Statement>{Write(database, counts, /*are_new=*/false)};
}

absl::Status CheckCounts(Database& database) {
  ASSIGN_OR_RETURN(
      const Rows rows,
      database.Read("SELECT coalesce(d.dataset, l.dataset), coalesce(d.ledgers, 0),"
                    " coalesce(d.code, ''), coalesce(l.n, 0) FROM @.datasets AS d FULL JOIN"
                    " (SELECT dataset, count(*) AS n FROM @.ledgers"
                    " GROUP BY dataset) AS l ON l.dataset = d.dataset"));
  for (int row = 0; row < rows.size(); ++row) {
    if (rows.Number(row, 1) != rows.Number(row, 3)) {
      return Damaged(rows.Bytes(row, 0), absl::StrCat("it is ", rows.Number(row, 1), ", but ",
                                                      rows.Number(row, 3), " do"));
    }
    RETURN_IF_ERROR(CountOf(database, rows, row).status());
  }
  return absl::OkStatus();
}

}  // namespace dpledger::postgres
