#include "ledger_store/postgres/schema.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/absl_view.h"
#include "base/status.h"

namespace dpledger::postgres {
namespace {

constexpr int kAttempts = 20;  // each server that starts at the same time can make one fail

// One at a time: a statement is prepared before it runs, and so may need the one before it.
constexpr const char* kTables[] = {
    // least: the least version of the programs that may use it. A later version that only adds
    // leaves it as it is, and programs of this one go on beside later ones.
    "CREATE TABLE @.schema_version ("
    " id bigint PRIMARY KEY, version bigint NOT NULL, least bigint NOT NULL)",
    // name: bytewise order, whatever the database's. head: StoredHead. root makes the
    // compare-and-set see a database that has gone back and grown anew. unsigned: may have entries
    // that no checkpoint covers. wanted: somebody waits for that, at another server than the one
    // that signs.
    "CREATE TABLE @.ledgers ("
    " name text COLLATE \"C\" PRIMARY KEY, dataset bytea NOT NULL, next_seq bigint NOT NULL,"
    " root bytea NOT NULL, head bytea NOT NULL, unsigned boolean NOT NULL,"
    " wanted boolean NOT NULL DEFAULT false)",
    "CREATE INDEX ledgers_dataset ON @.ledgers (dataset)",
    "CREATE INDEX ledgers_unsigned ON @.ledgers (name) WHERE unsigned",
    "CREATE INDEX ledgers_wanted ON @.ledgers (name) WHERE wanted",
    // An append writes as much whatever the number of writers. status: a WriterStatus.
    "CREATE TABLE @.writers ("
    " ledger text COLLATE \"C\" NOT NULL, writer text COLLATE \"C\" NOT NULL,"
    " status bytea NOT NULL, PRIMARY KEY (ledger, writer))",
    // How many ledgers declare a data set; code: its authenticator.
    "CREATE TABLE @.datasets ("
    " dataset bytea PRIMARY KEY, ledgers bigint NOT NULL, code bytea NOT NULL)",
    // body: a C2SP entry bundle of n entries, at most 256.
    "CREATE TABLE @.chunks ("
    " ledger text COLLATE \"C\" NOT NULL, first_seq bigint NOT NULL, n bigint NOT NULL,"
    " body bytea NOT NULL, body_sha256 bytea NOT NULL, PRIMARY KEY (ledger, first_seq))",
    "CREATE TABLE @.requests ("
    " ledger text COLLATE \"C\" NOT NULL, request_id text COLLATE \"C\" NOT NULL,"
    " request_hash bytea NOT NULL, receipt bytea NOT NULL, PRIMARY KEY (ledger, request_id))",
    "CREATE TABLE @.histories ("
    " ledger text COLLATE \"C\" PRIMARY KEY, body bytea NOT NULL, body_sha256 bytea NOT NULL)",
    // What lists show of a ledger. body: a StoredSummary.
    "CREATE TABLE @.summaries (ledger text COLLATE \"C\" PRIMARY KEY, body bytea NOT NULL)",
    // log: a ledger's name, or empty for the registry.
    "CREATE TABLE @.checkpoints ("
    " log text COLLATE \"C\" PRIMARY KEY, size bigint NOT NULL, checkpoint bytea NOT NULL)",
    "CREATE TABLE @.tiles ("
    " log text COLLATE \"C\" NOT NULL, level bigint NOT NULL, idx bigint NOT NULL,"
    " hashes bytea NOT NULL, PRIMARY KEY (log, level, idx))",
    "CREATE TABLE @.registry (idx bigint PRIMARY KEY, entry bytea NOT NULL)",
    // One row: who may sign, and how long the registry is. A lease without a clock: the holder
    // raises beat, and gives the lease up by released.
    "CREATE TABLE @.signer ("
    " id bigint PRIMARY KEY, holder text NOT NULL, epoch bigint NOT NULL,"
    " registry_size bigint NOT NULL, beat bigint NOT NULL, released boolean NOT NULL)",
    "INSERT INTO @.signer VALUES (1, '', 0, 0, 0, true)",
    // What servers share besides: their tokens. earlier: of the texts before, the latest first, 8
    // bytes each. code: its authenticator.
    "CREATE TABLE @.texts ("
    " name text COLLATE \"C\" PRIMARY KEY, version bigint NOT NULL, body bytea NOT NULL,"
    " earlier bytea NOT NULL, code bytea NOT NULL)",
    // Written to wait for the standby: what was committed before is then there too.
    "CREATE TABLE @.barriers (id bigint PRIMARY KEY, n bigint NOT NULL)",
    // Last: a database that cannot take this back as a whole has no version where it broke off.
    "INSERT INTO @.schema_version VALUES (1, 1, 1)",
};
static_assert(kSchemaVersion == 1, "the last statement says it");

struct Version {
  int64_t version = 0;  // 0: the schema is not there
  int64_t least = 0;
};

absl::Status CheckKnown(const std::string& schema, const Version& found) {
  if (found.version == 0) {
    return WithReason(absl::FailedPreconditionError(absl::StrCat(
                          "schema ", schema, " is gone: start the server again to make it")),
                      {"SCHEMA_MISSING", {}});
  }
  if (found.least <= kSchemaVersion) return absl::OkStatus();
  return WithReason(absl::FailedPreconditionError(absl::StrCat(
                        "schema ", schema, " has version ", found.version,
                        ", for programs of version ", found.least, " and later, this program has ",
                        kSchemaVersion, ": a later program changed it; upgrade this one")),
                    {kSchemaNewer, {}});
}

absl::StatusOr<Version> ReadVersion(Connection& connection, const std::string& schema) {
  ASSIGN_OR_RETURN(
      const std::vector<Rows> found,
      connection.Run({{"SELECT 1 FROM pg_catalog.pg_tables"
                       " WHERE schemaname::text = $1 AND tablename::text = 'schema_version'",
                       Values().Text(schema)}}));
  if (found[0].size() == 0) return Version();
  ASSIGN_OR_RETURN(
      const std::vector<Rows> version,
      connection.Run({{InSchema(schema, "SELECT version, least FROM @.schema_version"), {}}}));
  if (version[0].size() != 1 || version[0].Number(0, 0) < kSchemaVersion) {
    return absl::DataLossError(absl::StrCat("schema ", schema, ": its version is missing"));
  }
  return Version{version[0].Number(0, 0), version[0].Number(0, 1)};
}

// In the open transaction. A conflict if another server makes them too.
absl::Status MakeTables(Connection& connection, const std::string& schema) {
  // Looked up first: to make a schema takes a right on the database, also where there is one.
  ASSIGN_OR_RETURN(
      const std::vector<Rows> found,
      connection.Run({{"SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname::text = $1",
                       Values().Text(schema)}}));
  if (found[0].size() == 0) {
    RETURN_IF_ERROR(connection.Run({{InSchema(schema, "CREATE SCHEMA @"), {}}}).status());
  }
  for (const char* sql : kTables) {
    RETURN_IF_ERROR(connection.Run({{InSchema(schema, sql), {}}}).status());
  }
  return absl::OkStatus();
}

}  // namespace

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

absl::Status MakeSchema(Connection& connection, const std::string& schema) {
  absl::Status status;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    ASSIGN_OR_RETURN(const Version version, ReadVersion(connection, schema));
    if (version.version > 0) return CheckKnown(schema, version);
    connection.Begin();
    status = MakeTables(connection, schema);
    if (status.ok()) {
      ASSIGN_OR_RETURN(const Committed committed, connection.Commit({}));
      if (committed != Committed::kUnknown) return absl::OkStatus();
      return absl::UnavailableError("the tables of the schema may not have been committed");
    }
    connection.Rollback();
    if (!IsConflict(status)) return status;
  }
  return status;
}

absl::Status CheckVersion(Connection& connection, const std::string& schema) {
  ASSIGN_OR_RETURN(const Version found, ReadVersion(connection, schema));
  return CheckKnown(schema, found);
}

Statement MayWrite(const std::string& schema) {
  // No statement but one that fails keeps those behind it, and the commit, from being run.
  return {InSchema(schema,
                   "SELECT 1 / (CASE WHEN least <= $1 THEN 1 ELSE 0 END) FROM @.schema_version"),
          Values().Number(kSchemaVersion)};
}

}  // namespace dpledger::postgres
