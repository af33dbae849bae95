// What somebody can do with each right on the tables of a real PostgreSQL server: every row of the
// table in docs/operating.md is tried, half of them in each ./test. Whatever the right, ε is never
// another one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <libpq-fe.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/hex.h"
#include "ledger/stored_head.h"
#include "ledger_store/evidence/fsck.h"
#include "ledger_store/evidence/notary.h"
#include "ledger_store/postgres/postgres_store.h"
#include "merkle/compact_tree.h"
#include "questions/answers.h"
#include "server/questions/stored_history.h"
#include "server/questions/subject_source.h"
#include "tests/ledger_store/postgres_server.h"
#include "tests/ledger_store/requests.h"
#include "tests/ledger_store/temp_folder.h"
#include "tests/support/sampled_cases.h"

namespace dpledger::server {
namespace {

constexpr uint64_t kBatches = 3;
constexpr uint64_t kRounds = 2000;  // of a batch
constexpr uint64_t kSize = 1 + 2 * kRounds * kBatches;

PostgresServer& Database() {
  static PostgresServer server;
  return server;
}

v1::AppendBatchRequest RunBatch(uint64_t batch) {
  v1::AppendBatchRequest request = Batch(kLedger, "w", absl::StrCat("r", batch));
  request.set_writer_position(2 * kRounds * batch);
  for (uint64_t i = 0; i < kRounds; ++i) {
    AddSampling(request, batch * kRounds + i);
    AddSumQuery(request, batch * kRounds + i);
  }
  return request;
}

// Of the data set that the ledger declares, there is another one.
constexpr char kOther[] = "projects/p/ledgers/other";

// What a server is made of, but for its door.
struct Running {
  absl::Status status;
  std::unique_ptr<LedgerStore> store;
  std::unique_ptr<Notary> notary;
  std::unique_ptr<SubjectSource> source;

  absl::StatusOr<double> Epsilon() const {
    v1::Subject subject;
    subject.add_ledgers(kLedger);
    const auto gathered = source->Gather(subject, /*group_size=*/0, {});
    if (!gathered.ok()) return gathered.status();
    v1::ComputeEpsilonRequest request;
    request.set_delta(1e-5);
    const auto answer = questions::Answer(*gathered, request, {});
    if (!answer.ok()) return answer.status();
    return answer->epsilon().upper();
  }
  // All else that is said of the ledger: its description, and how many declare its data set.
  absl::StatusOr<std::string> Description() const {
    const auto ledger = store->Get(kLedger);
    if (!ledger.ok()) return ledger.status();
    const auto declaring = store->CountDeclaring("adult");
    if (!declaring.ok()) return declaring.status();
    return absl::StrCat(ledger->ShortDebugString(), " ", *declaring);
  }
};

// A signed ledger of 12,001 entries, with its run-length table; made once, and copied.
class PostgresRights : public ::testing::Test {
 protected:
  void SetUp() override {
    if (Database().Must("SELECT count(*) FROM pg_database WHERE datname = 'gold'") == "0") {
      Database().Must("CREATE DATABASE gold");
      const Running made = Start("gold");
      ASSERT_TRUE(made.status.ok()) << made.status;
      ASSERT_TRUE(made.store->Create(CreateRequest(kLedger)).ok());
      for (uint64_t i = 0; i < kBatches; ++i) {
        // What was true before the last batch and the other ledger, to be put back.
        if (i + 1 == kBatches) {
          for (const char* table : {"ledgers", "writers", "datasets"}) Keep(table);
        }
        ASSERT_TRUE(made.store->Append(RunBatch(i)).ok());
      }
      ASSERT_TRUE(made.store->Create(CreateRequest(kOther)).ok());
      while (made.notary->Sign()->more) {
      }
      truth_ = made.Epsilon().value();
      description_ = made.Description().value();
      ASSERT_TRUE(made.store->GetHistory(kLedger).ok());
      ASSERT_EQ(made.store->Text("tokens")->Edit(
                    [](const SharedText::Edited&) { return SharedText::Edited("alice"); }),
                absl::OkStatus());
    }
    Database().Must("DROP DATABASE IF EXISTS tried WITH (FORCE)");
    Database().Must("CREATE DATABASE tried TEMPLATE gold");
    Database().Must("DROP ROLE IF EXISTS intruder");
    Database().Must("CREATE ROLE intruder LOGIN");
  }
  void TearDown() override {
    Database().Must("DROP DATABASE IF EXISTS tried WITH (FORCE)");
    Database().Must("DROP ROLE IF EXISTS intruder");
  }

  static void Keep(const std::string& table) {
    ASSERT_EQ(RunIn("gold", "postgres",
                    absl::StrCat("CREATE TABLE kept_", table, " AS TABLE dpledger.", table)),
              "");
  }
  static std::string ConnectionTo(const std::string& database, const std::string& user = "") {
    std::string connection = Database().Connection();
    absl::StrAppend(&connection, " dbname=", database);
    if (!user.empty()) absl::StrAppend(&connection, " user=", user);
    return connection;
  }
  static Running Start(const std::string& database) {
    Running running;
    PostgresOptions options;
    options.connection = ConnectionTo(database);
    options.keys = {std::make_shared<merkle::Authenticator>(*Key(), kHeadPurpose), nullptr};
    auto store = OpenPostgresStore(options);
    running.status = store.status();
    if (!store.ok()) return running;
    running.store = *std::move(store);
    NotaryOptions signing;
    signing.key = Key();
    signing.holder = "notary";
    auto notary = Notary::Open(signing, *running.store);
    running.status = notary.status();
    if (!notary.ok()) return running;
    running.notary = *std::move(notary);
    running.status = running.notary->Sign().status();
    if (!running.status.ok()) return running;
    running.status = running.store->RenewHeads().status();
    if (!running.status.ok()) return running;
    const absl::StatusOr<std::string> tokens = *running.store->Text("tokens")->Changed();
    if (tokens.ok()) {
      EXPECT_EQ(*tokens, "alice");
    } else if (!absl::IsNotFound(tokens.status())) {
      running.status = tokens.status();
    }
    running.source = std::make_unique<SubjectSource>(
        running.store.get(), size_t{64} << 20, nullptr,
        TableKeeping{std::make_shared<merkle::Authenticator>(*Key(), kHistoryPurpose), nullptr});
    return running;
  }
  static std::shared_ptr<const merkle::Ed25519PrivateKey> Key() {
    return std::make_shared<const merkle::Ed25519PrivateKey>(
        *merkle::Ed25519PrivateKey::FromSeed(std::string(32, 'k')));
  }
  // What fsck finds, one line each.
  static std::string Fsck(LedgerStore& store) {
    FsckReport report;
    FsckOptions options;
    options.authenticated = &store;
    options.check_history = [](LedgerReader& reader, const std::string& ledger) {
      return CheckHistory(reader, ledger);
    };
    dpledger::Fsck(store, options, report);
    std::string text;
    for (const Finding& finding : report.findings()) {
      absl::StrAppend(&text, finding.place, ": ", finding.what, "\n");
    }
    return text;
  }
  // Runs SQL in the database that is tried; an error's text, or the first column of the first row.
  static std::string Run(const std::string& user, const std::string& sql) {
    return RunIn("tried", user, sql);
  }
  static std::string RunIn(const std::string& database, const std::string& user,
                           const std::string& sql) {
    PGconn* const connection = PQconnectdb(ConnectionTo(database, user).c_str());
    PGresult* const result = PQexec(connection, sql.c_str());
    const ExecStatusType status = PQresultStatus(result);
    const bool ran = status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK;
    std::string text = ran ? "" : PQerrorMessage(connection);
    if (ran && PQntuples(result) > 0) text = PQgetvalue(result, 0, 0);
    PQclear(result);
    PQfinish(connection);
    return text;
  }
  // As somebody who may read all tables and has this right ("UPDATE tiles"), and no other.
  static void Intrude(const std::string& right, const std::string& sql) {
    std::string grant =
        "GRANT USAGE ON SCHEMA dpledger TO intruder;"
        "GRANT SELECT ON ALL TABLES IN SCHEMA dpledger TO intruder";
    const std::pair<std::string, std::string> parts = absl::StrSplit(right, ' ');
    if (parts.first != "SELECT") {
      absl::StrAppend(&grant, ";GRANT ", parts.first, " ON dpledger.", parts.second,
                      " TO intruder");
    }
    ASSERT_EQ(Run("postgres", grant), "");
    ASSERT_EQ(Run("intruder", sql), "") << right;
  }

  // SQL that puts something else into a column with a message, in the row that `where` names.
  template <typename Message>
  static std::string Forge(const std::string& table, const std::string& column,
                           const std::string& where, void (*change)(Message&)) {
    Message message;
    const std::string row = absl::StrCat(" FROM dpledger.", table, " WHERE ", where);
    EXPECT_TRUE(message.ParseFromString(
        *HexDecode(Run("postgres", absl::StrCat("SELECT encode(", column, ", 'hex')", row)))));
    change(message);
    return absl::StrCat("UPDATE dpledger.", table, " SET ", column, " = '\\x",
                        HexEncode(message.SerializeAsString()), "' WHERE ", where);
  }
  // Whatever was changed: what is said is true, or nothing is said.
  static void ExpectTruthOrNothing(const Running& running) {
    const absl::StatusOr<double> epsilon = running.Epsilon();
    if (epsilon.ok()) {
      EXPECT_EQ(*epsilon, truth_);
    }
    const absl::StatusOr<std::string> description = running.Description();
    if (description.ok()) {
      EXPECT_EQ(*description, description_);
    }
  }

  static double truth_;
  static std::string description_;
};
double PostgresRights::truth_ = 0;
std::string PostgresRights::description_;

// What must be seen after an intrusion, once the server was started again.
struct Case {
  std::string right;       // as the table in docs/operating.md names it
  std::string sql;         // with its commands, if the right is to do harm
  std::string at_start;    // a part of the message that refuses the start; empty: it starts
  std::string of_epsilon;  // a part of the message that ε is refused with; empty: it is the truth
  std::string of_fsck;     // a part of what fsck finds; empty: nothing
};

// SQL for the hexadecimal of a column in which every noise of 1.1 is 9.
std::string Quieter(const std::string& column) {
  return absl::StrCat("decode(replace(encode(", column,
                      ", 'hex'), '9a9999999999f13f', '0000000000002240'), 'hex')");
}

std::vector<Case> Cases() {
  const std::string run = " WHERE ledger = 'projects/p/ledgers/a'";
  return {
      {"SELECT", "SELECT '' FROM dpledger.ledgers", "", "", ""},
      {"UPDATE histories",
       absl::StrCat("UPDATE dpledger.histories SET body = ", Quieter("body"),
                    ", body_sha256 = sha256(", Quieter("body"), ")"),
       "", "", ""},
      {"UPDATE histories", "UPDATE dpledger.histories SET body_sha256 = ''", "", "", ""},
      {"UPDATE summaries", "UPDATE dpledger.summaries SET body = ''", "", "", ""},
      {"UPDATE ledgers", "UPDATE dpledger.ledgers SET dataset = 'other'",
       "its row names another data set", "", ""},
      {"UPDATE ledgers",
       "UPDATE dpledger.ledgers SET dataset = 'other' WHERE name = 'projects/p/ledgers/other'",
       "its row names another data set", "", ""},
      {"UPDATE ledgers", "UPDATE dpledger.ledgers SET unsigned = false", "", "", ""},
      {"UPDATE ledgers",
       "UPDATE dpledger.ledgers SET name = 'projects/p/ledgers/z'"
       " WHERE name = 'projects/p/ledgers/a'",
       "entry 0 is missing", "", ""},
      {"UPDATE ledgers", "UPDATE dpledger.ledgers SET root = sha256('')",
       "its head has another size or root than its row", "", ""},
      {"UPDATE ledgers", "UPDATE dpledger.ledgers SET next_seq = 1",
       "its head has another size or root than its row", "", ""},
      {"UPDATE writers", "UPDATE dpledger.writers SET status = ''", "its writers do not parse", "",
       ""},
      {"UPDATE writers",
       "UPDATE dpledger.writers SET ledger = 'projects/p/ledgers/other' WHERE writer = 'w'",
       "its head counts", "", ""},
      {"UPDATE writers", "UPDATE dpledger.writers SET writer = 'x' WHERE writer = 'w'",
       "its writers do not parse", "", ""},
      {"UPDATE datasets", "UPDATE dpledger.datasets SET ledgers = 1", "it is 1, but 2 do", "", ""},
      {"UPDATE datasets", "UPDATE dpledger.datasets SET code = sha256('')",
       "no server with this signing key made it", "", ""},
      {"UPDATE datasets", "UPDATE dpledger.datasets SET dataset = 'other'",
       "the count of the ledgers", "", ""},
      {"INSERT datasets",
       "INSERT INTO dpledger.datasets SELECT 'other', 0, code FROM dpledger.datasets",
       "no server with this signing key made it", "", ""},
      {"DELETE datasets", "DELETE FROM dpledger.datasets", "it is 0, but 2 do", "", ""},
      {"INSERT writers",
       "INSERT INTO dpledger.writers SELECT ledger, 'x', status FROM dpledger.writers"
       " WHERE writer = 'w'",
       "its writers do not parse", "", ""},
      {"DELETE writers", "DELETE FROM dpledger.writers WHERE writer = 'w'", "its writers 1", "",
       ""},
      {"UPDATE checkpoints", "UPDATE dpledger.checkpoints SET size = 7 WHERE log <> ''", "", "",
       ""},
      {"UPDATE checkpoints",
       "UPDATE dpledger.checkpoints SET checkpoint ="
       " (SELECT checkpoint FROM dpledger.checkpoints WHERE log = '') WHERE log <> ''",
       "checkpoint", "", ""},
      {"UPDATE tiles",
       "UPDATE dpledger.tiles SET hashes = set_byte(hashes, 0, 255 - get_byte(hashes, 0))", "tile",
       "", ""},
      {"UPDATE texts", "UPDATE dpledger.texts SET body = 'mallory'",
       "the database's tokens: no server with this signing key wrote them", "", ""},
      {"UPDATE texts", "UPDATE dpledger.texts SET version = version + 1",
       "no server with this signing key wrote them", "", ""},
      {"INSERT texts",
       "INSERT INTO dpledger.texts SELECT 'times of last use', version, body, earlier, code"
       " FROM dpledger.texts",
       "", "", ""},
      {"DELETE texts", "DELETE FROM dpledger.texts", "", "", ""},
      {"UPDATE barriers", "UPDATE dpledger.barriers SET n = 7", "", "", ""},
      {"INSERT requests",
       "INSERT INTO dpledger.requests SELECT ledger, 'r7', request_hash, receipt"
       " FROM dpledger.requests WHERE request_id = 'r1'",
       "", "", "has records of 5 answered requests, its entries are those of 4"},
      {"INSERT registry",
       "INSERT INTO dpledger.registry SELECT idx + 1, entry FROM dpledger.registry"
       " ORDER BY idx DESC LIMIT 1",
       "", "", "is beyond what was signed"},
      {"DELETE requests", absl::StrCat("DELETE FROM dpledger.requests", run), "", "",
       "request r1: there is no record of it"},
      {"UPDATE chunks",
       absl::StrCat("UPDATE dpledger.chunks SET body = ", Quieter("body"),
                    ", body_sha256 = sha256(", Quieter("body"), ")"),
       "", "", "checkpoint: signs the root"},
      {"DELETE chunks", "DELETE FROM dpledger.chunks WHERE first_seq = 0", "entry 0 is missing", "",
       ""},
      {"DELETE histories", "DELETE FROM dpledger.histories", "", "", ""},
      {"DELETE ledgers", "DELETE FROM dpledger.ledgers", "no such ledger", "", ""},
      {"DELETE checkpoints", "DELETE FROM dpledger.checkpoints WHERE log <> ''", "checkpoint", "",
       ""},
      {"DELETE registry", "DELETE FROM dpledger.registry", "registry", "", ""},
      {"DELETE tiles", "DELETE FROM dpledger.tiles", "tile", "", ""},
  };
}

TEST_F(PostgresRights, NoRightGivesAnotherEpsilon) {
  dpledger::testing::SampledCases sampled(2);
  for (const Case& tried : Cases()) {
    if (!sampled.Next()) continue;
    SCOPED_TRACE(tried.sql);
    SetUp();
    {
      const Running running = Start("tried");
      ASSERT_TRUE(running.status.ok()) << running.status;
      Intrude(tried.right, tried.sql);
      ExpectTruthOrNothing(running);
    }
    const Running again = Start("tried");
    EXPECT_EQ(again.status.ok(), tried.at_start.empty()) << again.status;
    EXPECT_THAT(std::string(again.status.message()), ::testing::HasSubstr(tried.at_start));
    if (!again.status.ok()) continue;
    const absl::StatusOr<double> epsilon = again.Epsilon();
    EXPECT_EQ(epsilon.ok(), tried.of_epsilon.empty()) << epsilon.status();
    if (epsilon.ok()) {
      EXPECT_EQ(*epsilon, truth_);
    }
    EXPECT_THAT(std::string(epsilon.status().message()), ::testing::HasSubstr(tried.of_epsilon));
    EXPECT_EQ(again.Description().value(), description_);
    const std::string found = Fsck(*again.store);
    EXPECT_EQ(found.empty(), tried.of_fsck.empty()) << found.substr(0, 500);
    EXPECT_THAT(found, ::testing::HasSubstr(tried.of_fsck));
  }
}

// Heads and writers that fit together, each with one thing changed: nobody can make their
// authenticator.
TEST_F(PostgresRights, ForgedHeadsAreDamage) {
  const std::string head = "name = 'projects/p/ledgers/a'";
  const std::string writer = "ledger = 'projects/p/ledgers/a' AND writer = 'w'";
  const std::map<std::string, std::function<std::string()>> forgeries = {
      {"a sealed ledger",
       [&] {
         return Forge<v1::StoredHead>("ledgers", "head", head,
                                      [](v1::StoredHead& row) { row.set_state(v1::SEALED); });
       }},
      {"an earlier time",
       [&] {
         return Forge<v1::StoredHead>("ledgers", "head", head, [](v1::StoredHead& row) {
           row.mutable_last_recorded_time()->set_seconds(60);
         });
       }},
      {"no authenticator",
       [&] {
         return Forge<v1::StoredHead>("ledgers", "head", head,
                                      [](v1::StoredHead& row) { row.clear_authenticator(); });
       }},
      {"one more writer",
       [] {
         v1::WriterStatus more;
         more.set_writer("x");
         return absl::StrCat(
             "INSERT INTO dpledger.writers VALUES ('projects/p/ledgers/a', 'x', '\\x",
             HexEncode(more.SerializeAsString()), "')");
       }},
      {"a writer that has closed",
       [&] {
         return Forge<v1::WriterStatus>("writers", "status", writer,
                                        [](v1::WriterStatus& row) { row.set_closed(true); });
       }},
      {"a writer that may begin its rounds again",
       [&] {
         return Forge<v1::WriterStatus>("writers", "status", writer,
                                        [](v1::WriterStatus& row) { row.set_last_round(0); });
       }},
      {"a writer that misses a spool",
       [&] {
         return Forge<v1::WriterStatus>("writers", "status", writer, [](v1::WriterStatus& row) {
           row.add_missing_spools()->set_incarnation("i");
         });
       }},
  };
  for (const auto& [what, sql] : forgeries) {
    SCOPED_TRACE(what);
    SetUp();
    {
      const Running running = Start("tried");
      ASSERT_TRUE(running.status.ok()) << running.status;
      ASSERT_EQ(Run("postgres", sql()), "");
      ExpectTruthOrNothing(running);
    }
    const Running again = Start("tried");
    EXPECT_EQ(again.status.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(
        std::string(again.status.message()),
        ::testing::AnyOf(::testing::HasSubstr("is not as a server with this signing key left"),
                         ::testing::HasSubstr("has no authenticator")));
  }
}

// The head that cannot be read comes first in the list; what is behind it is checked all the same.
TEST_F(PostgresRights, FsckGoesOnBehindAHeadThatCannotBeRead) {
  ASSERT_EQ(
      Run("postgres",
          absl::StrCat("UPDATE dpledger.ledgers SET head = '\\x00' WHERE name = '", kLedger, "'")),
      "");
  const Running running = Start("tried");
  EXPECT_EQ(running.status.code(), absl::StatusCode::kDataLoss);
  FsckReport report;
  dpledger::Fsck(*running.store, {}, report);
  EXPECT_EQ(report.ledgers, 1);
  std::string found;
  for (const Finding& finding : report.findings()) absl::StrAppend(&found, finding.what, "\n");
  EXPECT_THAT(found,
              ::testing::HasSubstr(absl::StrCat(kLedger, ", but that ledger cannot be read")));
  EXPECT_THAT(found, ::testing::Not(::testing::HasSubstr(absl::StrCat(kOther, ", but"))));
}

// A tree that fits together, but is not what was signed.
TEST_F(PostgresRights, HeadOfAnotherTreeIsRefusedAtTheStart) {
  v1::StoredHead head;
  ASSERT_TRUE(head.ParseFromString(*HexDecode(Run("postgres",
                                                  "SELECT encode(head, 'hex') FROM dpledger.ledgers"
                                                  " WHERE name = 'projects/p/ledgers/a'"))));
  head.mutable_frontier()->back() ^= 1;
  const auto tree = merkle::CompactTree::FromFrontier(head.size(), head.frontier());
  Intrude("UPDATE ledgers", absl::StrCat("UPDATE dpledger.ledgers SET head = '\\x",
                                         HexEncode(head.SerializeAsString()), "', root = '\\x",
                                         HexEncode(merkle::ToBytes(tree->Root())),
                                         "' WHERE name = 'projects/p/ledgers/a'"));
  EXPECT_TRUE(IsError(Start("tried").status, absl::StatusCode::kDataLoss, "",
                      "is not as a server with this signing key left"));
}

// What was true once.
TEST_F(PostgresRights, OldRowsPutBackAreDamage) {
  const std::string head =
      "UPDATE dpledger.ledgers AS l SET head = k.head, next_seq = k.next_seq, root = k.root"
      " FROM kept_ledgers AS k WHERE k.name = l.name";
  const std::string writers =
      "UPDATE dpledger.writers AS w SET status = k.status FROM kept_writers AS k"
      " WHERE k.ledger = w.ledger AND k.writer = w.writer";
  const std::string count =
      "UPDATE dpledger.datasets AS d SET ledgers = k.ledgers, code = k.code FROM kept_datasets AS "
      "k";
  const std::pair<std::string, std::string> cases[] = {
      {head, "its head counts 8001 entries, its writers 12001"},
      {writers, "its head counts 12001 entries, its writers 8001"},
      {absl::StrCat(head, ";", writers), "its head counts 8001 entries, its entries end at 12001"},
      {count, "it is 1, but 2 do"},
      {absl::StrCat(count, ";UPDATE dpledger.ledgers SET dataset = 'x' WHERE name = '", kOther,
                    "'"),
       "its row names another data set"},
  };
  for (const auto& [sql, message] : cases) {
    SCOPED_TRACE(sql);
    SetUp();
    {
      const Running running = Start("tried");
      ASSERT_TRUE(running.status.ok()) << running.status;
      ASSERT_EQ(Run("postgres", sql), "");
      ExpectTruthOrNothing(running);
    }
    const absl::Status again = Start("tried").status;
    EXPECT_TRUE(IsError(again, absl::StatusCode::kDataLoss, "", message)) << again;
  }
}

// An honest retry was once stored twice.
TEST_F(PostgresRights, RetryIsStoredOnceWithoutTheRecordOfItsAnswer) {
  const Running running = Start("tried");
  const v1::Receipt receipt = *running.store->Append(RunBatch(1));
  Intrude("DELETE requests", "DELETE FROM dpledger.requests");
  const auto again = running.store->Append(RunBatch(1));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->SerializeAsString(), receipt.SerializeAsString());
  EXPECT_EQ(running.store->Get(kLedger)->size(), kSize);
}

// Signing stops; what is there is answered.
TEST_F(PostgresRights, ReplacedSignerOnlyStopsSigning) {
  const Running running = Start("tried");
  Intrude("UPDATE signer", "UPDATE dpledger.signer SET registry_size = registry_size + 1");
  v1::AppendBatchRequest more = Batch(kLedger, "w", "more");
  AddNote(more, "to be signed");
  ASSERT_TRUE(running.store->Append(more).ok());
  EXPECT_FALSE(running.notary->Sign().ok());
  EXPECT_EQ(running.Epsilon().value(), truth_);
}

// Entries at a ledger's end, before the server's own: the ledger takes no more, and shows none.
TEST_F(PostgresRights, ForeignEntriesStopTheLedger) {
  const Running running = Start("tried");
  Intrude("INSERT chunks",
          absl::StrCat("INSERT INTO dpledger.chunks SELECT ledger, ", kSize,
                       ", n, body, body_sha256 FROM dpledger.chunks WHERE first_seq = 0"));
  v1::AppendBatchRequest more = Batch(kLedger, "w", "more");
  AddNote(more, "the next one");
  EXPECT_FALSE(running.store->Append(more).ok());
  EXPECT_EQ(running.store->Get(kLedger)->size(), kSize);
  EXPECT_EQ(running.Epsilon().value(), truth_);
}

TEST_F(PostgresRights, ForeignLedgerRowIsDamage) {
  const Running running = Start("tried");
  Intrude("INSERT ledgers",
          "INSERT INTO dpledger.ledgers SELECT 'projects/p/ledgers/b',"
          " dataset, next_seq, root, head, false"
          " FROM dpledger.ledgers WHERE name = 'projects/p/ledgers/a'");
  EXPECT_TRUE(IsError(running.store->Get("projects/p/ledgers/b").status(),
                      absl::StatusCode::kDataLoss, "", "entry 0 is missing"));
  EXPECT_EQ(running.Epsilon().value(), truth_);
}

TEST_F(PostgresRights, RightToReadIsNoOther) {
  Intrude("SELECT", "SELECT '' FROM dpledger.ledgers");
  for (const char* table :
       {"ledgers", "writers", "datasets", "chunks", "requests", "histories", "checkpoints", "tiles",
        "registry", "signer", "barriers", "summaries"}) {
    EXPECT_THAT(Run("intruder", absl::StrCat("DELETE FROM dpledger.", table)),
                ::testing::HasSubstr("permission denied"));
  }
}

TEST(PostgresRightsTable, NamesWhatIsTriedHere) {
  std::set<std::string> tried = {"UPDATE signer", "INSERT chunks", "INSERT ledgers"};
  for (const Case& one : Cases()) tried.insert(one.right);
  std::ifstream file(absl::StrCat(std::getenv("DPLEDGER_SOURCE"), "/docs/operating.md"));
  std::set<std::string> named;
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> cells = absl::StrSplit(line, '`');
    if (cells.size() < 3 || cells[0] != "| ") continue;
    const std::vector<std::string> words = absl::StrSplit(cells[1], ' ');
    for (const char* command : {"SELECT", "INSERT", "UPDATE", "DELETE"}) {
      if (words[0] == command) named.insert(cells[1]);
    }
  }
  EXPECT_EQ(named, tried);
}

}  // namespace
}  // namespace dpledger::server
