#include "ledger_store/postgres/summaries.h"

#include <map>
#include <utility>

#include "base/status.h"

namespace dpledger::postgres {

absl::Status PutSummaries(Database& database, const std::vector<SummaryRow>& rows) {
  // By name, so that two servers lock rows in the same order; each once, as the statement demands.
  std::map<std::string, std::string> by_name;
  for (const SummaryRow& row : rows) by_name[row.ledger] = row.bytes;
  if (by_name.empty()) return absl::OkStatus();
  std::vector<std::string> names, bodies;
  for (auto& [name, bytes] : by_name) {
    names.push_back(name);
    bodies.push_back(std::move(bytes));
  }
  return database.Transact([&](Connection&) -> absl::StatusOr<std::vector<Statement>> {
    return std::vector<Statement>{
        {database.Sql("INSERT INTO @.summaries (ledger, body) SELECT g.ledger, g.body"
                      " FROM unnest($1::text[], $2::bytea[]) AS g (ledger, body)"
                      " WHERE EXISTS (SELECT 1 FROM @.ledgers AS l WHERE l.name = g.ledger)"
                      " ORDER BY g.ledger"
                      " ON CONFLICT (ledger) DO UPDATE SET body = excluded.body"),
         Values().Texts(names).ListOfBytes(bodies)}};
  });
}

absl::StatusOr<std::vector<SummaryRow>> ReadSummaries(Database& database,
                                                      const std::vector<std::string>& ledgers) {
  Statement statement = {database.Sql("SELECT ledger, body FROM @.summaries"), {}};
  if (!ledgers.empty()) {
    statement = {database.Sql("SELECT ledger, body FROM @.summaries WHERE ledger = ANY ($1)"),
                 Values().Texts(ledgers)};
  }
  ASSIGN_OR_RETURN(const std::vector<Rows> found, database.Read({statement}));
  std::vector<SummaryRow> rows;
  for (int row = 0; row < found[0].size(); ++row) {
    rows.push_back({found[0].Bytes(row, 0), found[0].Bytes(row, 1)});
  }
  return rows;
}

}  // namespace dpledger::postgres
