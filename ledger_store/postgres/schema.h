// The tables of the PostgreSQL engine, and their version. They lie in one PostgreSQL schema of
// their own. docs/formats.md does not describe them: for a lasting format, export the ledgers.
//
// The SQL is limited to what PostgreSQL, CockroachDB and YugabyteDB share: no sequences, triggers,
// advisory locks, stored procedures or server cursors.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "ledger_store/postgres/connection.h"

namespace dpledger::postgres {

inline constexpr int64_t kSchemaVersion = 1;
// Reason: a later program has changed the schema so that this one may not use it.
inline constexpr char kSchemaNewer[] = "SCHEMA_NEWER";

// INVALID_ARGUMENT unless it is 1 to 63 of [a-z0-9_], beginning with a letter.
absl::Status CheckSchemaName(std::string_view schema);

// `sql` with the schema's name for every "@".
std::string InSchema(std::string_view schema, std::string_view sql);

// Makes the tables, in one transaction, unless they are there. FAILED_PRECONDITION, and nothing is
// written: they are not for programs of kSchemaVersion any more (kSchemaNewer); they are not as
// this program's statements need them, or are another service's (SCHEMA_UNFIT).
absl::Status MakeSchema(Connection& connection, const std::string& schema);

// Where a database lies: the identifier of its PostgreSQL cluster, which copies of its files keep,
// and the database's number there. Both empty where it does not tell.
struct Home {
  std::string was, is;
};
// Notes in the schema where the database lies, and says what was noted before: something else in a
// copy, or in what was restored from a dump.
Home NoteHome(Connection& connection, const std::string& schema);

// FAILED_PRECONDITION (kSchemaNewer, SCHEMA_MISSING) unless programs of kSchemaVersion may use it.
absl::Status CheckVersion(Connection& connection, const std::string& schema);
// Fails a transaction, by a division by zero, if they may not any more: a server that has a
// connection since before hears of it so. It locks nothing: whoever raises `least` must lock the
// tables in the same transaction, or one that has passed this may still commit afterwards.
Statement MayWrite(const std::string& schema);

}  // namespace dpledger::postgres
