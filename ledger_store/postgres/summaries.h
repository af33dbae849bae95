// What lists show of ledgers: the table `summaries`. Functions; thread safe.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ledger_store/postgres/database.h"
#include "ledger_store/store.h"

namespace dpledger::postgres {

// As LedgerStore has them: one statement, whatever the number of rows.
absl::Status PutSummaries(Database& database, const std::vector<SummaryRow>& rows);
absl::StatusOr<std::vector<SummaryRow>> ReadSummaries(Database& database,
                                                      const std::vector<std::string>& ledgers);

}  // namespace dpledger::postgres
