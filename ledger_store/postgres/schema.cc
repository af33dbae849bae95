#include "ledger_store/postgres/schema.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/absl_view.h"
#include "base/status.h"

namespace dpledger::postgres {
namespace {

constexpr int kAttempts = 20;  // each server that starts at the same time can make one fail

// Each column "name type", with what else is said of it; none is null. Texts of the key are in
// bytewise order, whatever the database's.
struct Table {
  const char* name;
  const char* columns;
  const char* key;
};
constexpr char kVersionTable[] = "schema_version";
constexpr Table kTables[] = {
    // least: the least version of the programs that may use it. A later version that only adds
    // leaves it as it is, and programs of this one go on beside later ones. home: see NoteHome.
    {kVersionTable, "id bigint, version bigint, least bigint, home text", "id"},
    // head: StoredHead. root makes the compare-and-set see a database that has gone back and grown
    // anew. unsigned: may have entries that no checkpoint covers. wanted: somebody waits for that,
    // at another server than the one that signs.
    {"ledgers",
     "name text, dataset bytea, next_seq bigint, root bytea, head bytea, unsigned boolean,"
     " wanted boolean DEFAULT false",
     "name"},
    // An append writes as much whatever the number of writers. status: a WriterStatus.
    {"writers", "ledger text, writer text, status bytea", "ledger, writer"},
    // How many ledgers declare a data set; code: its authenticator.
    {"datasets", "dataset bytea, ledgers bigint, code bytea", "dataset"},
    // body: a C2SP entry bundle of n entries, at most 256.
    {"chunks", "ledger text, first_seq bigint, n bigint, body bytea, body_sha256 bytea",
     "ledger, first_seq"},
    {"requests", "ledger text, request_id text, request_hash bytea, receipt bytea",
     "ledger, request_id"},
    {"histories", "ledger text, body bytea, body_sha256 bytea", "ledger"},
    // What lists show of a ledger. body: a StoredSummary.
    {"summaries", "ledger text, body bytea", "ledger"},
    // log: a ledger's name, or empty for the registry.
    {"checkpoints", "log text, size bigint, checkpoint bytea", "log"},
    {"tiles", "log text, level bigint, idx bigint, hashes bytea", "log, level, idx"},
    {"registry", "idx bigint, entry bytea", "idx"},
    // One row: who may sign, and how long the registry is. A lease without a clock: the holder
    // raises beat, and gives the lease up by released.
    {"signer",
     "id bigint, holder text, epoch bigint, registry_size bigint, beat bigint, released boolean",
     "id"},
    // What servers share besides: their tokens. earlier: of the texts before, the latest first, 8
    // bytes each. code: its authenticator.
    {"texts", "name text, version bigint, body bytea, earlier bytea, code bytea", "name"},
    // Written to wait for the standby: what was committed before is then there too.
    {"barriers", "id bigint, n bigint", "id"},
};
struct Index {
  const char* name;
  const char* on;
};
constexpr Index kIndexes[] = {
    {"ledgers_dataset", "@.ledgers (dataset)"},
    {"ledgers_unsigned", "@.ledgers (name) WHERE unsigned"},
    {"ledgers_wanted", "@.ledgers (name) WHERE wanted"},
};
// The version last: a database that cannot take this back as a whole has none where it broke off.
constexpr const char* kFirstRows[] = {
    "INSERT INTO @.signer VALUES (1, '', 0, 0, 0, true)",
    "INSERT INTO @.schema_version VALUES (1, 1, 1, '')",
};
static_assert(kSchemaVersion == 1, "the last statement says it");

struct Column {
  std::string name;
  std::string type;
  std::string more;
  bool is_bytewise = false;  // text of the key
};

std::vector<Column> ColumnsOf(const Table& table) {
  const std::set<std::string> key = absl::StrSplit(table.key, ", ");
  std::vector<Column> columns;
  for (const auto text : absl::StrSplit(table.columns, ", ")) {
    const std::vector<std::string> words = absl::StrSplit(text, absl::MaxSplits(' ', 2));
    Column& column = columns.emplace_back(Column{words[0], words[1], ""});
    if (words.size() > 2) column.more = words[2];
    column.is_bytewise = column.type == "text" && key.contains(column.name);
  }
  return columns;
}

// "bigint NOT NULL".
std::string TypeOf(const std::string& type, bool is_bytewise, bool is_null) {
  return absl::StrCat(type, is_bytewise ? " COLLATE \"C\"" : "", is_null ? "" : " NOT NULL");
}

std::string SqlOf(const Table& table) {
  std::string sql = absl::StrCat("CREATE TABLE @.", table.name, " (");
  for (const Column& column : ColumnsOf(table)) {
    absl::StrAppend(&sql, column.name, " ", TypeOf(column.type, column.is_bytewise, false), " ",
                    column.more, ", ");
  }
  return absl::StrCat(sql, "PRIMARY KEY (", table.key, "))");
}

// What the database says of a table.
struct FoundTable {
  struct FoundColumn {
    std::string type;  // as TypeOf says it
    bool is_needed;    // a row cannot do without its value
  };
  std::map<std::string, FoundColumn> columns;
  std::string key;
};

// How a table is not what this program's statements take it for; one that has more is. Empty: it
// is.
std::vector<std::string> FaultsOf(const Table& table, const FoundTable* found) {
  if (found == nullptr) return {absl::StrCat("table ", table.name, " is missing")};
  std::vector<std::string> faults;
  std::set<std::string> known;
  for (const Column& column : ColumnsOf(table)) {
    known.insert(column.name);
    const std::string wanted = TypeOf(column.type, column.is_bytewise, false);
    const auto it = found->columns.find(column.name);
    if (it == found->columns.end()) {
      faults.push_back(absl::StrCat(table.name, ".", column.name, " is missing"));
    } else if (it->second.type != wanted) {
      faults.push_back(absl::StrCat(table.name, ".", column.name, " must be ", wanted, ", is ",
                                    it->second.type));
    }
  }
  for (const auto& [name, column] : found->columns) {
    if (column.is_needed && !known.contains(name)) {
      faults.push_back(absl::StrCat(table.name, ".", name,
                                    " is of a later version, and must be nullable or have a "
                                    "default"));
    }
  }
  if (found->key != table.key) {
    faults.push_back(absl::StrCat("the primary key of ", table.name, " must be (", table.key,
                                  "), is (", found->key, ")"));
  }
  return faults;
}

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

// FAILED_PRECONDITION unless the tables are as this program's statements take them for: a migration
// may have broken off, or a hand may have changed them.
absl::Status CheckTables(Connection& connection, const std::string& schema) {
  ASSIGN_OR_RETURN(
      const std::vector<Rows> rows,
      connection.Run(
          {{"SELECT c.relname::text, a.attname::text, format_type(a.atttypid, a.atttypmod),"
            " coalesce(l.collname = 'C', false), a.attnotnull, a.atthasdef, a.attnum::bigint,"
            " coalesce(i.indkey::text, '')"
            " FROM pg_catalog.pg_class c"
            " JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
            " JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid"
            " LEFT JOIN pg_catalog.pg_collation l ON l.oid = a.attcollation"
            " LEFT JOIN pg_catalog.pg_index i ON i.indrelid = c.oid AND i.indisprimary"
            " WHERE n.nspname::text = $1 AND c.relkind IN ('r', 'p')"
            " AND a.attnum > 0 AND NOT a.attisdropped",
            Values().Text(schema)},
           {"SELECT c.relname::text FROM pg_catalog.pg_index i"
            " JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid"
            " JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
            " WHERE n.nspname::text = $1 AND i.indisvalid",
            Values().Text(schema)}}));
  std::map<std::string, FoundTable> found;
  std::map<std::string, std::map<std::string, std::string>> numbered;  // columns, by table
  std::map<std::string, std::string> keys;                             // of numbers
  for (int row = 0; row < rows[0].size(); ++row) {
    const std::string table = rows[0].Bytes(row, 0), column = rows[0].Bytes(row, 1);
    const bool not_null = rows[0].Bool(row, 4);
    found[table].columns[column] = {TypeOf(rows[0].Bytes(row, 2), rows[0].Bool(row, 3), !not_null),
                                    not_null && !rows[0].Bool(row, 5)};
    numbered[table][absl::StrCat(rows[0].Number(row, 6))] = column;
    keys[table] = rows[0].Bytes(row, 7);
  }
  for (const auto& [table, numbers] : keys) {
    std::vector<std::string> names;
    for (const auto number : absl::StrSplit(numbers, ' ', absl::SkipEmpty()))
      names.push_back(numbered[table][std::string(number)]);
    found[table].key = absl::StrJoin(names, ", ");
  }
  std::vector<std::string> faults;
  for (const Table& table : kTables) {
    const auto it = found.find(table.name);
    for (std::string& fault : FaultsOf(table, it == found.end() ? nullptr : &it->second))
      faults.push_back(std::move(fault));
  }
  std::set<std::string> indexes;
  for (int row = 0; row < rows[1].size(); ++row) indexes.insert(rows[1].Bytes(row, 0));
  for (const Index& index : kIndexes) {
    if (!indexes.contains(index.name))
      faults.push_back(absl::StrCat("index ", index.name, " is missing or not valid"));
  }
  if (faults.empty()) return absl::OkStatus();
  return WithReason(
      absl::FailedPreconditionError(absl::StrCat(
          "schema ", schema, " is not as this program needs it: ", absl::StrJoin(faults, "; "),
          ": a migration broke off, or it was changed by hand; nothing was written")),
      {"SCHEMA_UNFIT", {}});
}

// In the open transaction. A conflict if another server makes them too.
absl::Status MakeTables(Connection& connection, const std::string& schema) {
  // Looked up first: to make a schema takes a right on the database, also where there is one.
  ASSIGN_OR_RETURN(
      const std::vector<Rows> found,
      connection.Run({{"SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname::text = $1",
                       Values().Text(schema)},
                      {"SELECT tablename::text FROM pg_catalog.pg_tables"
                       " WHERE schemaname::text = $1 ORDER BY 1",
                       Values().Text(schema)}}));
  std::vector<std::string> others;
  for (int row = 0; row < found[1].size(); ++row) others.push_back(found[1].Bytes(row, 0));
  if (std::find(others.begin(), others.end(), kVersionTable) == others.end() && !others.empty()) {
    return WithReason(
        absl::FailedPreconditionError(absl::StrCat(
            "schema ", schema, " has tables of something else, or that were left half made: ",
            absl::StrJoin(others, ", "), "; give this service a schema of its own")),
        {"SCHEMA_UNFIT", {}});
  }
  if (found[0].size() == 0) {
    RETURN_IF_ERROR(connection.Run({{InSchema(schema, "CREATE SCHEMA @"), {}}}).status());
  }
  // One at a time: a statement is prepared before it runs, and so may need the one before it.
  std::vector<std::string> statements;
  for (const Table& table : kTables) statements.push_back(SqlOf(table));
  for (const Index& index : kIndexes)
    statements.push_back(absl::StrCat("CREATE INDEX ", index.name, " ON ", index.on));
  statements.insert(statements.end(), std::begin(kFirstRows), std::end(kFirstRows));
  for (const std::string& sql : statements) {
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
    if (version.version > 0) {
      RETURN_IF_ERROR(CheckKnown(schema, version));
      return CheckTables(connection, schema);
    }
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

Home NoteHome(Connection& connection, const std::string& schema) {
  // Other databases of PostgreSQL's language have no such function.
  const absl::StatusOr<std::vector<Rows>> now =
      connection.Run({{"SELECT c.system_identifier::text || '/' || d.oid::text FROM"
                       " pg_catalog.pg_control_system() AS c, pg_catalog.pg_database AS d"
                       " WHERE d.datname = current_database()",
                       {}}});
  const absl::StatusOr<std::vector<Rows>> noted =
      connection.Run({{InSchema(schema, "SELECT home FROM @.schema_version"), {}}});
  if (!now.ok() || !noted.ok() || (*now)[0].size() != 1 || (*noted)[0].size() != 1) return {};
  Home home{(*noted)[0].Bytes(0, 0), (*now)[0].Bytes(0, 0)};
  if (home.was != home.is) {
    // Without the right to write it says the same at the next start.
    connection
        .Run({{InSchema(schema, "UPDATE @.schema_version SET home = $1 WHERE home = $2"),
               Values().Text(home.is).Text(home.was)}})
        .IgnoreError();
  }
  return home;
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
