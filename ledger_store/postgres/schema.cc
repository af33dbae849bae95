#include "ledger_store/postgres/schema.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/absl_view.h"
#include "base/status.h"

namespace dpledger::postgres {
namespace {

constexpr int kAttempts = 20;  // each server that starts at the same time can make one fail

absl::Status VersionError(const std::string& schema, int64_t found, size_t known) {
  const bool newer = found > static_cast<int64_t>(known);
  return WithReason(
      absl::FailedPreconditionError(absl::StrCat(
          "schema ", schema, " has version ", found, ", this program knows version ", known,
          newer ? ": a later program wrote it; upgrade this one" : ": it was not migrated")),
      {newer ? "SCHEMA_NEWER" : "SCHEMA_OLDER", {}});
}

// The version of the schema; 0 if it is not there.
absl::StatusOr<int64_t> ReadVersion(Connection& connection, const std::string& schema,
                                    bool lock = false) {
  ASSIGN_OR_RETURN(
      const std::vector<Rows> found,
      connection.Run({{"SELECT 1 FROM pg_catalog.pg_tables"
                       " WHERE schemaname::text = $1 AND tablename::text = 'schema_version'",
                       Values().Text(schema)}}));
  if (found[0].size() == 0) return 0;
  ASSIGN_OR_RETURN(const std::vector<Rows> version,
                   connection.Run({{InSchema(schema, "SELECT version FROM @.schema_version") +
                                        (lock ? " FOR UPDATE" : ""),
                                    {}}}));
  if (version[0].size() != 1) {
    return absl::DataLossError(absl::StrCat("schema ", schema, ": its version is missing"));
  }
  return version[0].Number(0, 0);
}

// One step, in the open transaction.
absl::Status Step(Connection& connection, const std::string& schema,
                  const std::vector<Migration>& migrations) {
  ASSIGN_OR_RETURN(const int64_t version, ReadVersion(connection, schema, /*lock=*/true));
  if (version >= static_cast<int64_t>(migrations.size())) return absl::OkStatus();
  std::vector<Statement> statements;
  if (version == 0) {
    // Looked up first: to make one takes a right on the database, also where there is one.
    ASSIGN_OR_RETURN(
        const std::vector<Rows> found,
        connection.Run({{"SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname::text = $1",
                         Values().Text(schema)}}));
    if (found[0].size() == 0) statements.push_back({InSchema(schema, "CREATE SCHEMA @"), {}});
    statements.push_back(
        {InSchema(schema,
                  "CREATE TABLE @.schema_version (id bigint PRIMARY KEY, version bigint NOT NULL)"),
         {}});
    RETURN_IF_ERROR(connection.Run(statements).status());
    statements = {{InSchema(schema, "INSERT INTO @.schema_version VALUES (1, 0)"), {}}};
  }
  // One at a time: a statement is prepared before it runs, and so may need the one before it.
  for (const std::string& sql : migrations[static_cast<size_t>(version)]) {
    statements.push_back({InSchema(schema, sql), {}});
  }
  statements.push_back({InSchema(schema, "UPDATE @.schema_version SET version = $1 WHERE id = 1"),
                        Values().Number(version + 1)});
  for (Statement& statement : statements) {
    RETURN_IF_ERROR(connection.Run({std::move(statement)}).status());
  }
  return absl::OkStatus();
}

}  // namespace

const std::vector<Migration>& Migrations() {
  static const auto& migrations = *new std::vector<Migration>{
      {
          // name: bytewise order, whatever the database's. head: StoredHead; writers: a Ledger with
          // the writers alone; first_entry: entry 0. root makes the compare-and-set see a database
          // that has gone back and grown anew.
          "CREATE TABLE @.ledgers ("
          " name text COLLATE \"C\" PRIMARY KEY, first_entry bytea NOT NULL, dataset bytea NOT "
          "NULL,"
          " next_seq bigint NOT NULL, root bytea NOT NULL, head bytea NOT NULL,"
          " writers bytea NOT NULL, to_sign boolean NOT NULL)",
          "CREATE INDEX ledgers_dataset ON @.ledgers (dataset)",
          "CREATE INDEX ledgers_to_sign ON @.ledgers (name) WHERE to_sign",
          // body: a C2SP entry bundle of n entries, at most 256.
          "CREATE TABLE @.chunks ("
          " ledger text COLLATE \"C\" NOT NULL, first_seq bigint NOT NULL, n bigint NOT NULL,"
          " body bytea NOT NULL, body_sha256 bytea NOT NULL, PRIMARY KEY (ledger, first_seq))",
          "CREATE TABLE @.requests ("
          " ledger text COLLATE \"C\" NOT NULL, request_id text COLLATE \"C\" NOT NULL,"
          " request_hash bytea NOT NULL, receipt bytea NOT NULL, PRIMARY KEY (ledger, request_id))",
          "CREATE TABLE @.histories ("
          " ledger text COLLATE \"C\" PRIMARY KEY, body bytea NOT NULL,"
          " body_sha256 bytea NOT NULL)",
          // log: a ledger's name, or empty for the registry.
          "CREATE TABLE @.checkpoints ("
          " log text COLLATE \"C\" PRIMARY KEY, size bigint NOT NULL, checkpoint bytea NOT NULL)",
          "CREATE TABLE @.tiles ("
          " log text COLLATE \"C\" NOT NULL, level bigint NOT NULL, idx bigint NOT NULL,"
          " hashes bytea NOT NULL, PRIMARY KEY (log, level, idx))",
          "CREATE TABLE @.registry (idx bigint PRIMARY KEY, entry bytea NOT NULL)",
          // One row: who may sign, and how long the registry is.
          "CREATE TABLE @.signer ("
          " id bigint PRIMARY KEY, holder text NOT NULL, epoch bigint NOT NULL,"
          " expires timestamptz NOT NULL, registry_size bigint NOT NULL)",
          "INSERT INTO @.signer VALUES (1, '', 0, '2000-01-01 00:00:00+00', 0)",
          // Written to wait for the standby: what was committed before is then there too.
          "CREATE TABLE @.barriers (id bigint PRIMARY KEY, n bigint NOT NULL)",
      },
      {
          // A lease without a clock: the holder raises beat, and gives the lease up by released. A
          // holder of before loses the lease: it would not raise beat.
          "ALTER TABLE @.signer ADD COLUMN beat bigint NOT NULL DEFAULT 0",
          "ALTER TABLE @.signer ADD COLUMN released boolean NOT NULL DEFAULT true",
          "ALTER TABLE @.signer DROP COLUMN expires",
      },
      {
          // A writer's row is in place of what the column writers of its ledger says of it: an
          // append writes as much whatever the number of writers. status: a WriterStatus.
          "CREATE TABLE @.writers ("
          " ledger text COLLATE \"C\" NOT NULL, writer text COLLATE \"C\" NOT NULL,"
          " status bytea NOT NULL, PRIMARY KEY (ledger, writer))",
      },
      {
          // From here on a head has an authenticator. A server of before would write one without:
          // it does not find the column that it knows by the old name, and so writes nothing.
          "ALTER TABLE @.ledgers RENAME COLUMN to_sign TO unsigned",
          // False until the heads of before have got theirs (LedgerStore::RenewHeads).
          "CREATE TABLE @.heads_authentic (id bigint PRIMARY KEY, done boolean NOT NULL)",
          "INSERT INTO @.heads_authentic SELECT 1, NOT EXISTS (SELECT 1 FROM @.ledgers)",
          // How many ledgers declare a data set; code: its authenticator.
          "CREATE TABLE @.datasets ("
          " dataset bytea PRIMARY KEY, ledgers bigint NOT NULL, code bytea NOT NULL)",
      },
      {
          // What lists show of a ledger. body: a StoredSummary.
          "CREATE TABLE @.summaries (ledger text COLLATE \"C\" PRIMARY KEY, body bytea NOT NULL)",
      },
  };
  return migrations;
}

absl::Status CheckSchemaName(std::string_view schema) {
  const bool good = !schema.empty() && schema.size() <= 63 && absl::ascii_islower(schema[0]) &&
                    std::all_of(schema.begin(), schema.end(), [](unsigned char c) {
                      return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '_';
                    });
  if (good) return absl::OkStatus();
  return FieldError("schema", "must be 1 to 63 bytes of [a-z0-9_], beginning with a letter");
}

std::string InSchema(std::string_view schema, std::string_view sql) {
  return absl::StrReplaceAll(ToAbsl(sql), {{"@", absl::StrCat("\"", ToAbsl(schema), "\"")}});
}

absl::Status Migrate(Connection& connection, const std::string& schema,
                     const std::vector<Migration>& migrations) {
  absl::Status status;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    ASSIGN_OR_RETURN(const int64_t version, ReadVersion(connection, schema));
    if (version == static_cast<int64_t>(migrations.size())) return absl::OkStatus();
    if (version > static_cast<int64_t>(migrations.size())) {
      return VersionError(schema, version, migrations.size());
    }
    connection.Begin();
    status = Step(connection, schema, migrations);
    if (status.ok()) {
      ASSIGN_OR_RETURN(const Committed committed, connection.Commit({}));
      if (committed == Committed::kUnknown) {
        return absl::UnavailableError("the migration of the schema may not have been committed");
      }
      --attempt;  // on to the next step: there are not more than migrations
    } else {
      connection.Rollback();
      if (!IsConflict(status)) return status;
    }
  }
  return status;
}

absl::Status CheckVersion(Connection& connection, const std::string& schema, size_t version) {
  ASSIGN_OR_RETURN(const int64_t found, ReadVersion(connection, schema));
  if (found == static_cast<int64_t>(version)) return absl::OkStatus();
  return VersionError(schema, found, version);
}

}  // namespace dpledger::postgres
