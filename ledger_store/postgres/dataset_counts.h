// How many ledgers declare each data set: the table `datasets`. Each count has an authenticator, so
// that who writes to the table without the key can only put an older count back; a server that has
// read a greater one says DATA_LOSS then, and so does the next start.
//
// A count changes in the transaction that makes the ledger. Functions; thread safe.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ledger_store/postgres/database.h"

namespace dpledger::postgres {

// DATA_LOSS if the count is not authentic, or has gone back.
absl::StatusOr<uint64_t> CountDeclaring(Database& database, const std::string& dataset);

// The statements that add to the counts, which are locked until the transaction ends. Errors as
// CountDeclaring.
absl::StatusOr<std::vector<Statement>> AddToCounts(Database& database, Connection& connection,
                                                   const std::map<std::string, uint64_t>& made);

// The statements that write all counts anew under the current key, in the open transaction. Errors
// as CountDeclaring.
absl::StatusOr<std::vector<Statement>> RenewCounts(Database& database, Connection& connection);

// DATA_LOSS unless the counts are those of the ledgers' rows. Reads all of them.
absl::Status CheckCounts(Database& database);

}  // namespace dpledger::postgres
