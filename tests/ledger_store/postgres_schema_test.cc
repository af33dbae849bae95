// The PostgreSQL engine's tables and sessions: versions, rights, and settings that it does not
// accept.
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "absl/strings/str_cat.h"
#include "ledger_store/postgres/connection.h"
#include "ledger_store/postgres/postgres_store.h"
#include "ledger_store/postgres/schema.h"
#include "tests/cli/process.h"
#include "tests/ledger_store/postgres_server.h"
#include "tests/ledger_store/requests.h"
#include "tests/ledger_store/temp_folder.h"

namespace dpledger {
namespace {

using absl::StatusCode;
using ::testing::HasSubstr;
using ::testing::Not;

class PostgresSchema : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { server_ = new PostgresServer(); }
  static void TearDownTestSuite() { delete server_; }
  void TearDown() override { server_->Must("DROP SCHEMA IF EXISTS dpledger CASCADE"); }

  static absl::StatusOr<std::unique_ptr<LedgerStore>> Open(const std::string& more = "") {
    PostgresOptions options;
    options.connection = server_->Connection() + more;
    return OpenPostgresStore(options);
  }
  static std::unique_ptr<postgres::Connection> Connect(const std::string& more = "") {
    auto connection = postgres::Connection::Open(server_->Connection() + more, absl::Seconds(30));
    EXPECT_TRUE(connection.ok()) << connection.status();
    return *std::move(connection);
  }
  // Tables and their sizes.
  static std::string Everything() {
    return server_->Must(
        "SELECT string_agg(relname || ' ' || pg_total_relation_size(oid) || ' ' || xmin, ', '"
        " ORDER BY relname) FROM pg_class WHERE relnamespace = 'dpledger'::regnamespace");
  }

  static PostgresServer* server_;
};
PostgresServer* PostgresSchema::server_ = nullptr;

TEST_F(PostgresSchema, NewerVersionIsRefusedAndNotTouched) {
  ASSERT_TRUE((*Open())->Create(CreateRequest(kLedger)).ok());
  server_->Must("UPDATE dpledger.schema_version SET version = 99, least = 98");
  server_->Must("DROP TABLE dpledger.barriers");  // as a later version may have done
  const std::string before = Everything();
  EXPECT_TRUE(IsError(Open().status(), StatusCode::kFailedPrecondition, "SCHEMA_NEWER",
                      "schema dpledger has version 99, for programs of version 98 and later, this "
                      "program has 1: a later program changed it; upgrade this one"));
  EXPECT_EQ(Everything(), before);
}

TEST_F(PostgresSchema, CopySaysThatItIsOne) {
  std::vector<std::string> homes;
  const auto open = [&](const std::string& more) {
    PostgresOptions options;
    options.connection = server_->Connection() + more;
    options.on_copy = [&homes](const std::string& was, const std::string& is) {
      homes = {was, is};
    };
    return OpenPostgresStore(options).status();
  };
  ASSERT_TRUE(open("").ok());
  ASSERT_TRUE(open("").ok());  // it lies where it lay
  EXPECT_TRUE(homes.empty());
  server_->Must("CREATE DATABASE copy TEMPLATE template1");
  const std::string noted = server_->Must("SELECT home FROM dpledger.schema_version");
  EXPECT_THAT(noted, ::testing::MatchesRegex("[0-9]+/[0-9]+"));
  // As a dump carries it to another database.
  ASSERT_TRUE(open(" dbname=copy").ok());
  EXPECT_TRUE(homes.empty());
  const auto copy =
      postgres::Connection::Open(server_->Connection() + " dbname=copy", absl::Seconds(30));
  ASSERT_TRUE(
      (*copy)
          ->Run({{"UPDATE dpledger.schema_version SET home = $1", postgres::Values().Text(noted)}})
          .ok());
  ASSERT_TRUE(OpenPostgresStore({.connection = server_->Connection() + " dbname=copy"}).ok());
  EXPECT_TRUE(homes.empty()) << "nothing is noted by who only reads";
  ASSERT_TRUE(open(" dbname=copy").ok());
  ASSERT_EQ(homes.size(), 2u);
  EXPECT_EQ(homes[0], noted);
  EXPECT_NE(homes[1], noted);
  homes.clear();
  ASSERT_TRUE(open(" dbname=copy").ok());
  EXPECT_TRUE(homes.empty()) << "it is said once";
}

// A later program has added what this one does not know.
TEST_F(PostgresSchema, ExpandedSchemaIsUsed) {
  const auto before = *Open();
  ASSERT_TRUE(before->Create(CreateRequest(kLedger)).ok());
  server_->Must("UPDATE dpledger.schema_version SET version = 99");
  server_->Must("CREATE TABLE dpledger.later (id bigint)");
  server_->Must("ALTER TABLE dpledger.ledgers ADD COLUMN later bigint");
  server_->Stop();
  server_->Start();
  EXPECT_EQ(before->Append(RoundBatch(kLedger, "w", "r", 1)).status(), absl::OkStatus());
  const auto after = *Open();
  EXPECT_EQ(after->Append(RoundBatch(kLedger, "w", "r2", 2)).status(), absl::OkStatus());
  EXPECT_TRUE(before->Healthy());
}

// Nothing is written from the moment on at which the later program says so: by a connection that
// was open before, and by a new one.
TEST_F(PostgresSchema, StoreStopsWhenTheSchemaIsContractedUnderIt) {
  for (const bool reconnects : {false, true}) {
    server_->Must("DROP SCHEMA IF EXISTS dpledger CASCADE");
    const auto store = *Open();
    ASSERT_TRUE(store->Create(CreateRequest(kLedger)).ok());
    const uint64_t epoch = *store->checkpoints().AcquireLease("signer", absl::Hours(1));
    server_->Must("UPDATE dpledger.schema_version SET version = 2, least = 2");
    if (reconnects) {
      server_->Stop();
      server_->Start();
    }
    EXPECT_TRUE(store->Healthy());
    const absl::Status refused = store->Append(RoundBatch(kLedger, "w", "r", 1)).status();
    EXPECT_TRUE(IsError(refused, StatusCode::kUnavailable, kServerTooOld,
                        "for programs of version 2 and later, this program has 1"));
    EXPECT_EQ(ReasonOf(store->Health()).reason, kServerTooOld);
    Publication publication{.lease_epoch = epoch, .registry_entries = {"entry"}};
    EXPECT_EQ(ReasonOf(store->checkpoints().Publish(publication)).reason, kServerTooOld);
    EXPECT_EQ(server_->Must("SELECT next_seq FROM dpledger.ledgers"), "1");
    EXPECT_EQ(server_->Must("SELECT count(*) FROM dpledger.registry"), "0");
  }
}

// Also in a transaction that began before, whatever isolation the database gives by default.
TEST_F(PostgresSchema, GuardSeesWhatWasSaidAfterTheTransactionBegan) {
  ASSERT_TRUE(Open().ok());
  for (const char* level : {"read committed", "repeatable read", "serializable"}) {
    server_->Must(
        absl::StrCat("ALTER DATABASE postgres SET default_transaction_isolation = '", level, "'"));
    const auto connection = Connect();
    connection->Begin();
    ASSERT_TRUE(connection->Run({{"INSERT INTO dpledger.barriers VALUES (99, 1)", {}}}).ok());
    server_->Must("UPDATE dpledger.schema_version SET version = 2, least = 2");
    const auto committed = connection->Commit({postgres::MayWrite("dpledger")});
    EXPECT_EQ(ReasonOf(committed.status()).reason, postgres::kDividedByZero) << level;
    connection->Rollback();
    EXPECT_EQ(server_->Must("SELECT count(*) FROM dpledger.barriers WHERE id = 99"), "0");
    server_->Must("UPDATE dpledger.schema_version SET version = 1, least = 1");
  }
  server_->Must("ALTER DATABASE postgres RESET default_transaction_isolation");
}

// What a database, or a role, may set for everybody.
TEST_F(PostgresSchema, IsReadUnderAnySettingOfTheDatabase) {
  for (const char* setting :
       {"quote_all_identifiers = on", "search_path = nothing", "bytea_output = escape",
        "standard_conforming_strings = off", "extra_float_digits = 0", "DateStyle = 'German'",
        "IntervalStyle = sql_standard", "TimeZone = 'Asia/Kathmandu'", "row_security = off",
        "transform_null_equals = on", "enable_seqscan = off", "client_encoding = latin1"}) {
    server_->Must(absl::StrCat("ALTER DATABASE postgres SET ", setting));
    const auto store = Open();
    ASSERT_TRUE(store.ok()) << setting << ": " << store.status();
    (*store)->Create(CreateRequest(kLedger)).IgnoreError();
    const absl::Status stored = (*store)->Append(RoundBatch(kLedger, "w", "r", 1)).status();
    EXPECT_TRUE(stored.ok()) << setting << ": " << stored;
    server_->Must("ALTER DATABASE postgres RESET ALL");
  }
}

// As a standby is that lacked the last commits and was promoted: the files of an earlier moment.
// It took 7 s: 2 of silence, 2 until nobody had answered a new connection, and 3 for another one.
TEST(PostgresFrozen, AnAppendIsAnsweredWithinSeconds) {
  PostgresServer server;
  const auto store = *OpenPostgresStore({.connection = server.Connection()});
  ASSERT_TRUE(store->Create(CreateRequest(kLedger)).ok());
  ASSERT_TRUE(store->Append(RoundBatch(kLedger, "w", "r", 1)).ok());
  server.Freeze();
  const absl::Time begun = absl::Now();
  EXPECT_EQ(store->Append(RoundBatch(kLedger, "w", "next", 2)).status().code(),
            StatusCode::kUnavailable);
  EXPECT_LT(absl::Now() - begun, absl::Seconds(6));
  const absl::Time again = absl::Now();
  EXPECT_EQ(store->Get(kLedger).status().code(), StatusCode::kUnavailable);
  EXPECT_LT(absl::Now() - again, absl::Seconds(6));
}

TEST(PostgresLoss, NothingIsAcknowledgedByADatabaseThatHasGoneBack) {
  PostgresServer server;
  PostgresOptions options;
  options.connection = server.Connection();
  const auto store = *OpenPostgresStore(options), other = *OpenPostgresStore(options);
  ASSERT_TRUE(store->Create(CreateRequest(kLedger)).ok());
  ASSERT_TRUE(store->Append(RoundBatch(kLedger, "w", "kept", 1)).ok());
  const auto put_aside = [&](const std::string& from, const std::string& to) {
    server.Stop();
    const std::string place = server.folder() + "/";
    std::filesystem::remove_all(place + to);
    ASSERT_EQ(testing::RunProgram({"/bin/cp", "-a", place + from, place + to}).exit_code, 0);
    server.Start();
  };
  put_aside("data", "earlier");
  // What is there is there: a restart alone ends nothing.
  ASSERT_TRUE(store->Append(RoundBatch(kLedger, "w", "lost", 2)).ok());
  put_aside("earlier", "data");
  // Another server, which acknowledged nothing of it, goes on in its place, and further.
  ASSERT_TRUE(other->Append(RoundBatch(kLedger, "v", "another", 7)).ok());
  ASSERT_TRUE(other->Append(RoundBatch(kLedger, "v", "longer", 8)).ok());
  const absl::Status refused = store->Append(RoundBatch(kLedger, "w", "next", 3)).status();
  EXPECT_TRUE(IsError(refused, StatusCode::kUnavailable, "DATABASE_WENT_BACK",
                      "the database has gone back"));
  EXPECT_EQ(ReasonOf(refused).metadata["request_id"], "lost");
  EXPECT_EQ(ReasonOf(store->Health()).reason, "DATABASE_WENT_BACK");
  EXPECT_FALSE(store->Get(kLedger).ok());  // nor is anything answered of it
  EXPECT_EQ(server.Must("SELECT count(*) FROM dpledger.requests WHERE request_id = 'next'"), "0");
  EXPECT_TRUE(other->Healthy());
}

TEST_F(PostgresSchema, TablesAreMadeAllOrNone) {
  server_->Must("CREATE SCHEMA dpledger; CREATE TABLE dpledger.barriers (another bigint)");
  EXPECT_TRUE(IsError(Open().status(), StatusCode::kFailedPrecondition, "SCHEMA_UNFIT",
                      "schema dpledger has tables of something else, or that were left half made: "
                      "barriers; give this service a schema of its own"));
  EXPECT_EQ(server_->Must("SELECT string_agg(tablename, ' ') FROM pg_tables"
                          " WHERE schemaname = 'dpledger'"),
            "barriers");
  server_->Must("DROP TABLE dpledger.barriers");
  EXPECT_TRUE(Open().ok());  // in a schema that somebody has made
  EXPECT_EQ(server_->Must("SELECT version FROM dpledger.schema_version"), "1");
}

TEST_F(PostgresSchema, MissingVersionIsRefused) {
  ASSERT_TRUE(Open().ok());
  for (const char* change :
       {"UPDATE dpledger.schema_version SET version = 0", "DELETE FROM dpledger.schema_version"}) {
    server_->Must(change);
    EXPECT_TRUE(IsError(Open().status(), StatusCode::kDataLoss, "",
                        "schema dpledger: its version is missing"))
        << change;
  }
}

// Half of a migration, or of a hand: each thing that the statements rely on, changed alone.
TEST_F(PostgresSchema, UnfitTablesAreNamedAndNothingIsWritten) {
  const std::pair<const char*, const char*> kChanges[] = {
      {"DROP TABLE dpledger.barriers", "table barriers is missing"},
      {"ALTER TABLE dpledger.chunks RENAME TO pieces", "table chunks is missing"},
      {"ALTER TABLE dpledger.ledgers DROP COLUMN wanted", "ledgers.wanted is missing"},
      {"ALTER TABLE dpledger.requests RENAME receipt TO receipts", "requests.receipt is missing"},
      {"ALTER TABLE dpledger.tiles ALTER level TYPE integer",
       "tiles.level must be bigint NOT NULL, is integer NOT NULL"},
      {"ALTER TABLE dpledger.writers ALTER writer TYPE text COLLATE \"en_US\"",
       "writers.writer must be text COLLATE \"C\" NOT NULL, is text NOT NULL"},
      {"ALTER TABLE dpledger.summaries ALTER body DROP NOT NULL",
       "summaries.body must be bytea NOT NULL, is bytea"},
      {"ALTER TABLE dpledger.texts ADD COLUMN later bigint NOT NULL",
       "texts.later is of a later version, and must be nullable or have a default"},
      {"ALTER TABLE dpledger.chunks DROP CONSTRAINT chunks_pkey",
       "the primary key of chunks must be (ledger, first_seq), is ()"},
      {"ALTER TABLE dpledger.writers DROP CONSTRAINT writers_pkey, ADD PRIMARY KEY (writer, "
       "ledger)",
       "the primary key of writers must be (ledger, writer), is (writer, ledger)"},
      {"DROP INDEX dpledger.ledgers_unsigned", "index ledgers_unsigned is missing or not valid"},
  };
  server_->Must("CREATE COLLATION IF NOT EXISTS public.\"en_US\" FROM \"C\"");
  for (const auto& [change, fault] : kChanges) {
    ASSERT_TRUE(Open().ok());
    ASSERT_TRUE(Open().ok());  // the control: as it was made, it is used
    server_->Must(change);
    const std::string before = Everything();
    EXPECT_TRUE(IsError(Open().status(), StatusCode::kFailedPrecondition, "SCHEMA_UNFIT",
                        absl::StrCat("schema dpledger is not as this program needs it: ", fault)))
        << change;
    EXPECT_EQ(Everything(), before) << change;
    server_->Must("DROP SCHEMA dpledger CASCADE");
  }
}

TEST_F(PostgresSchema, ServersThatStartTogetherMakeTheTablesOnce) {
  std::vector<std::thread> starters;
  for (int i = 0; i < 8; ++i) {
    starters.emplace_back([] { EXPECT_TRUE(Open().ok()); });
  }
  for (std::thread& starter : starters) starter.join();
  EXPECT_EQ(server_->Must("SELECT count(*) FROM dpledger.signer"), "1");
}

// The rights that docs/operating.md names, and no others.
TEST_F(PostgresSchema, ServerNeedsNoRightToDelete) {
  ASSERT_TRUE(Open().ok());  // the owner makes the tables
  server_->Must(
      "CREATE ROLE ledger_server LOGIN; GRANT USAGE ON SCHEMA dpledger TO ledger_server;"
      "GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA dpledger TO ledger_server;"
      "GRANT UPDATE ON dpledger.ledgers, dpledger.writers, dpledger.datasets, dpledger.histories,"
      " dpledger.checkpoints, dpledger.tiles, dpledger.signer, dpledger.barriers,"
      " dpledger.summaries, dpledger.texts TO ledger_server");
  const auto store = *Open(" user=ledger_server");
  ASSERT_TRUE(store->Create(CreateRequest(kLedger)).ok());
  for (int i = 0; i < 2; ++i) {
    const auto receipt = store->Append(RoundBatch(kLedger, "w", "r", 1));
    EXPECT_TRUE(receipt.ok()) << receipt.status();
  }
  EXPECT_TRUE(store->PutHistory(kLedger, {}).ok());
  EXPECT_TRUE(store->PutHistory(kLedger, {}).ok());
  CheckpointStore& checkpoints = store->checkpoints();
  for (uint64_t size = 1; size <= 2; ++size) {
    Publication publication;
    publication.lease_epoch = *checkpoints.AcquireLease("signer", absl::Hours(1));
    publication.registry_size = size - 1;
    publication.registry_entries = {"entry"};
    publication.logs.resize(1);
    publication.logs[0].checkpoint.set_size(size);
    publication.logs[0].tiles[{0, 0}] = std::string(32 * size, 'h');
    const absl::Status published = checkpoints.Publish(publication);
    EXPECT_TRUE(published.ok()) << published;
  }
  EXPECT_TRUE(checkpoints.Latest(kRegistryLog).ok());
  // The control: it is this role, and it has no more.
  const auto connection = Connect(" user=ledger_server");
  EXPECT_TRUE(IsError(connection->Run({{"DELETE FROM dpledger.chunks", {}}}).status(),
                      StatusCode::kUnavailable, "STORE_FAILED", "permission denied for table"));
  EXPECT_TRUE(IsError(connection->Run({{"UPDATE dpledger.chunks SET n = 1", {}}}).status(),
                      StatusCode::kUnavailable, "STORE_FAILED", "permission denied for table"));
  server_->Must("DROP OWNED BY ledger_server; DROP ROLE ledger_server");
}

TEST_F(PostgresSchema, CommitsWaitWhateverTheRoleIsSetTo) {
  for (const auto& [setting, used] :
       std::vector<std::pair<std::string, std::string>>{{"off", "on"},
                                                        {"local", "on"},
                                                        {"remote_write", "on"},
                                                        {"on", "on"},
                                                        {"remote_apply", "remote_apply"}}) {
    const auto connection = Connect(absl::StrCat(" options='-c synchronous_commit=", setting,
                                                 " -c client_min_messages=error'"));
    const auto rows =
        connection->Run({{"SELECT current_setting('synchronous_commit')"
                          " || ' ' || current_setting('client_min_messages')",
                          {}}});
    ASSERT_TRUE(rows.ok()) << rows.status();
    EXPECT_EQ((*rows)[0].Bytes(0, 0), used + " warning") << setting;
  }
}

// In front of a database, by a socket in a folder of its own: passes the first connection on. It
// hangs up on all others, as a proxy does that takes TLS only, or is silent to them.
class Proxy {
 public:
  enum class Others { kHangUp, kSilence };
  Proxy(const std::string& server_folder, const std::string& folder, Others others)
      : listening_(Listen(folder)), others_(others) {
    thread_ = std::thread([this, server_folder] { Run(server_folder); });
  }
  ~Proxy() {
    ::shutdown(listening_, SHUT_RDWR);
    thread_.join();
    for (const int one : open_) ::shutdown(one, SHUT_RDWR);
    for (std::thread& one : passing_) one.join();
    for (const int one : open_) ::close(one);
    ::close(listening_);
  }
  int others() const { return count_; }

 private:
  static sockaddr_un Address(const std::string& folder) {
    sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
    absl::StrCat(folder, "/.s.PGSQL.5432").copy(address.sun_path, sizeof address.sun_path - 1);
    return address;
  }
  static int Listen(const std::string& folder) {
    const int listening = ::socket(AF_UNIX, SOCK_STREAM, 0);
    const sockaddr_un address = Address(folder);
    EXPECT_EQ(::bind(listening, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listening, 5), 0);
    return listening;
  }
  static void Pass(int from, int to) {
    char bytes[4096];
    for (ssize_t got = 0; (got = ::read(from, bytes, sizeof bytes)) > 0;)
      if (::send(to, bytes, static_cast<size_t>(got), MSG_NOSIGNAL) != got) return;
  }
  void Run(const std::string& server_folder) {
    for (int client = 0; (client = ::accept(listening_, nullptr, nullptr)) >= 0;) {
      open_.push_back(client);
      if (!passing_.empty()) {
        ++count_;
        if (others_ == Others::kHangUp) ::shutdown(client, SHUT_RDWR);
        continue;
      }
      const int server = open_.emplace_back(::socket(AF_UNIX, SOCK_STREAM, 0));
      const sockaddr_un address = Address(server_folder);
      EXPECT_EQ(::connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
      passing_.emplace_back(Pass, client, server);
      passing_.emplace_back(Pass, server, client);
    }
  }

  const int listening_;
  const Others others_;
  std::atomic<int> count_ = 0;
  std::vector<int> open_;  // the thread's, until it has ended
  std::vector<std::thread> passing_;
  std::thread thread_;
};

// A statement of 5 s whose server is asked meanwhile whether it is there.
TEST_F(PostgresSchema, WhoHangsUpIsThereAndWhoIsSilentIsNot) {
  for (const auto others : {Proxy::Others::kHangUp, Proxy::Others::kSilence}) {
    const TempFolder folder;
    const Proxy proxy(server_->folder(), folder.path(), others);
    const auto connection = Connect(absl::StrCat(" host=", folder.path()));
    const absl::Status answered = connection->Run({{"SELECT pg_sleep(5)", {}}}).status();
    EXPECT_GE(proxy.others(), 1);
    if (others == Proxy::Others::kHangUp) {
      EXPECT_EQ(answered, absl::OkStatus());
      EXPECT_EQ(connection->hung(), "");
    } else {
      EXPECT_TRUE(postgres::IsUnreachable(answered)) << answered;
      EXPECT_EQ(connection->hung(), folder.path() + ":5432");
    }
  }
}

TEST_F(PostgresSchema, ServerThatDoesNotSyncIsRefused) {
  server_->Must("ALTER SYSTEM SET fsync = off");
  server_->Must("SELECT pg_reload_conf()");
  server_->Await("SHOW fsync", "off");
  EXPECT_TRUE(IsError(Open().status(), StatusCode::kFailedPrecondition, "", "fsync off"));
  server_->Must("ALTER SYSTEM RESET fsync");
  server_->Must("SELECT pg_reload_conf()");
  server_->Await("SHOW fsync", "on");
  EXPECT_TRUE(Open().ok());
}

TEST_F(PostgresSchema, ErrorsDoNotHoldTheConnectionString) {
  for (const char* more : {" password=sesame42 host=/nowhere", " password=sesame42 sesame42",
                           " user=nobody password=sesame42 dbname=none"}) {
    const absl::Status refused = Open(more).status();
    EXPECT_FALSE(refused.ok());
    EXPECT_THAT(std::string(refused.message()), Not(HasSubstr("sesame42")));
    EXPECT_THAT(std::string(refused.message()), Not(HasSubstr("password")));
  }
  // The control: this is what libpq says of the second.
  char* error = nullptr;
  EXPECT_EQ(PQconninfoParse("password=sesame42 sesame42", &error), nullptr);
  EXPECT_THAT(std::string(error), HasSubstr("sesame42"));
  PQfreemem(error);
}

TEST_F(PostgresSchema, OptionsOutOfTheirDomainAreRefused) {
  const auto refused = [](auto change, const char* message) {
    PostgresOptions options;
    options.connection = server_->Connection();
    change(options);
    return IsError(OpenPostgresStore(options).status(), StatusCode::kInvalidArgument,
                   "INVALID_FIELD", message);
  };
  for (const char* schema : {"", "1a", "a\"b", "A", "a b"}) {
    EXPECT_TRUE(refused([&](PostgresOptions& options) { options.schema = schema; },
                        "schema: must be 1 to 63 bytes of [a-z0-9_]"))
        << schema;
  }
  EXPECT_TRUE(refused([](PostgresOptions& options) { options.connections = 1; },
                      "connections: must be at least 2, got 1"));
  EXPECT_TRUE(refused([](PostgresOptions& options) { options.timeout = absl::Milliseconds(1); },
                      "timeout: must be 1 s to 1 h"));
  EXPECT_TRUE(refused([](PostgresOptions& options) { options.connection = "nonsense"; },
                      "connection: must be a connection string that libpq takes"));
}

}  // namespace
}  // namespace dpledger
