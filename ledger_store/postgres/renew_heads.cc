#include "ledger_store/postgres/renew_heads.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "ledger_store/postgres/dataset_counts.h"
#include "ledger_store/postgres/heads.h"

namespace dpledger::postgres {
namespace {

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
  const Ask ask = [&connection](std::vector<Statement> statements) {
    return connection.Run(std::move(statements));
  };
  ASSIGN_OR_RETURN(const std::vector<ReadHeadRow> heads, ReadWholeHeads(database, ask, names));
  std::vector<std::string> renewed, columns;
  for (const ReadHeadRow& read : heads) {
    if (read.is_current) continue;
    renewed.push_back(read.head->name);
    columns.push_back(HeadColumn(*read.head));
  }
  page = {names.back(), renewed.size()};
  if (renewed.empty()) return std::vector<Statement>();
  return std::vector<Statement>{
      {database.Sql("UPDATE @.ledgers AS l SET head = g.head"
                    " FROM unnest($1::text[], $2::bytea[]) AS g (name, head)"
                    " WHERE l.name = g.name"),
       Values().Texts(renewed).ListOfBytes(columns)}};
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

absl::StatusOr<uint64_t> RenewHeads(Database& database) {
  if (database.keys().current == nullptr) return 0;
  uint64_t heads = 0;
  if (database.keys().previous != nullptr) {
    ASSIGN_OR_RETURN(heads, RenewAll(database));
    RETURN_IF_ERROR(database.Transact(
        [&](Connection& connection) { return RenewCounts(database, connection); }));
  }
  RETURN_IF_ERROR(CheckCounts(database));
  return heads;
}

}  // namespace dpledger::postgres
