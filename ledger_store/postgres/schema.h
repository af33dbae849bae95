// The tables of the PostgreSQL engine, and their migrations. They lie in one PostgreSQL schema of
// their own. docs/formats.md does not describe them: for a lasting format, export the ledgers.
//
// The SQL is limited to what PostgreSQL, CockroachDB and YugabyteDB share: no sequences, triggers,
// advisory locks, stored procedures or server cursors.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "ledger_store/postgres/connection.h"

namespace dpledger::postgres {

// The statements that bring a database from version i to i + 1, with "@" for the schema. A released
// migration never changes.
using Migration = std::vector<std::string>;
const std::vector<Migration>& Migrations();

// INVALID_ARGUMENT unless it is 1 to 63 of [a-z0-9_], beginning with a letter.
absl::Status CheckSchemaName(std::string_view schema);

// `sql` with the schema's name for every "@".
std::string InSchema(std::string_view schema, std::string_view sql);

// Brings the schema to version `migrations.size()`, each step in a transaction. If it has that
// version, it is only read. FAILED_PRECONDITION (reason SCHEMA_NEWER) if it has a later version:
// nothing is written then.
absl::Status Migrate(Connection& connection, const std::string& schema,
                     const std::vector<Migration>& migrations);

// FAILED_PRECONDITION (reason SCHEMA_NEWER, SCHEMA_OLDER) unless the schema has that version.
absl::Status CheckVersion(Connection& connection, const std::string& schema, size_t version);

}  // namespace dpledger::postgres
