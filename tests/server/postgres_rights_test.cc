// What somebody can do with each right on the tables of a real PostgreSQL server: every row of the
// table in docs/operating.md is tried. Whatever the right, ε is never another one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <libpq-fe.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/hex.h"
#include "ledger/ledger_head.h"
#include "ledger/questions.h"
#include "ledger_store/evidence/fsck.h"
#include "ledger_store/evidence/notary.h"
#include "ledger_store/postgres/postgres_store.h"
#include "server/stored_history.h"
#include "server/subject_source.h"
#include "tests/ledger_store/postgres_server.h"
#include "tests/ledger_store/requests.h"
#include "tests/ledger_store/temp_folder.h"

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
    const auto answer = accountant::AnswerEpsilon(*gathered, request, {});
    if (!answer.ok()) return answer.status();
    return answer->epsilon().upper();
  }
};

// A signed ledger of 12,001 entries, with its run-length table; made once, and copied.
class PostgresRights : public testing::Test {
 protected:
  void SetUp() override {
    if (Database().Must("SELECT count(*) FROM pg_database WHERE datname = 'gold'") == "0") {
      Database().Must("CREATE DATABASE gold");
      const Running made = Start("gold");
      ASSERT_TRUE(made.status.ok()) << made.status;
      ASSERT_TRUE(made.store->Create(CreateRequest(kLedger)).ok());
      for (uint64_t i = 0; i < kBatches; ++i) ASSERT_TRUE(made.store->Append(RunBatch(i)).ok());
      while (made.notary->Sign()->more) {
      }
      truth_ = made.Epsilon().value();
      ASSERT_TRUE(made.store->GetHistory(kLedger).ok());
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
    PGconn* const connection = PQconnectdb(ConnectionTo("tried", user).c_str());
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

  static double truth_;
};
double PostgresRights::truth_ = 0;

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
      {"UPDATE ledgers",
       "UPDATE dpledger.ledgers SET first_entry ="
       " decode(replace(encode(first_entry, 'hex'), '6164756c74', '6f74686572'), 'hex')",
       "", "", ""},
      {"UPDATE ledgers", "UPDATE dpledger.ledgers SET dataset = 'other'", "", "", ""},
      {"UPDATE ledgers", "UPDATE dpledger.ledgers SET to_sign = false", "", "", ""},
      {"UPDATE ledgers", "UPDATE dpledger.ledgers SET root = sha256('')",
       "its head has another size or root than its row", "", ""},
      {"UPDATE ledgers", "UPDATE dpledger.ledgers SET next_seq = 1",
       "its head has another size or root than its row", "", ""},
      {"UPDATE ledgers", "UPDATE dpledger.ledgers SET writers = '\\x0a'",
       "its writers do not parse", "", ""},
      {"UPDATE writers", "UPDATE dpledger.writers SET status = ''", "its writers do not parse", "",
       ""},
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
  for (const Case& tried : Cases()) {
    SCOPED_TRACE(tried.sql);
    SetUp();
    {
      const Running running = Start("tried");
      ASSERT_TRUE(running.status.ok()) << running.status;
      Intrude(tried.right, tried.sql);
      const absl::StatusOr<double> meanwhile = running.Epsilon();
      if (meanwhile.ok()) {
        EXPECT_EQ(*meanwhile, truth_);
      }
    }
    const Running again = Start("tried");
    EXPECT_EQ(again.status.ok(), tried.at_start.empty()) << again.status;
    EXPECT_THAT(std::string(again.status.message()), testing::HasSubstr(tried.at_start));
    if (!again.status.ok()) continue;
    const absl::StatusOr<double> epsilon = again.Epsilon();
    EXPECT_EQ(epsilon.ok(), tried.of_epsilon.empty()) << epsilon.status();
    if (epsilon.ok()) {
      EXPECT_EQ(*epsilon, truth_);
    }
    EXPECT_THAT(std::string(epsilon.status().message()), testing::HasSubstr(tried.of_epsilon));
    EXPECT_EQ(again.store->Get(kLedger)->declaration().dataset(), "adult");
    const std::string found = Fsck(*again.store);
    EXPECT_EQ(found.empty(), tried.of_fsck.empty()) << found.substr(0, 500);
    EXPECT_THAT(found, testing::HasSubstr(tried.of_fsck));
  }
}

// A head that fits together, but is not what was signed.
TEST_F(PostgresRights, HeadOfAnotherTreeIsRefusedAtTheStart) {
  v1::StoredHead head;
  ASSERT_TRUE(head.ParseFromString(
      *HexDecode(Run("postgres", "SELECT encode(head, 'hex') FROM dpledger.ledgers"))));
  head.mutable_frontier()->back() ^= 1;
  std::map<std::string, v1::WriterStatus> by_name;
  for (const std::string name : {"", "w"}) {
    ASSERT_TRUE(by_name[name].ParseFromString(
        *HexDecode(Run("postgres", absl::StrCat("SELECT encode(status, 'hex') FROM"
                                                " dpledger.writers WHERE writer = '",
                                                name, "'")))));
  }
  v1::LedgerEntry first;
  *first.mutable_declaration() = CreateRequest(kLedger).declaration();
  const LedgerHead forged = dpledger::FromStored(kLedger, first, head, by_name).value();
  Intrude("UPDATE ledgers", absl::StrCat("UPDATE dpledger.ledgers SET head = '\\x",
                                         HexEncode(head.SerializeAsString()), "', root = '\\x",
                                         HexEncode(merkle::ToBytes(forged.tree.Root())), "'"));
  const Running again = Start("tried");
  EXPECT_TRUE(IsError(again.status, absl::StatusCode::kDataLoss, "STORE_WENT_BACK",
                      "projects/p/ledgers/a: its head has another root at size 12001 than was "
                      "signed"));
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
          " first_entry, dataset, next_seq, root, head, writers, false"
          " FROM dpledger.ledgers");
  EXPECT_TRUE(IsError(running.store->Get("projects/p/ledgers/b").status(),
                      absl::StatusCode::kDataLoss, "", "entry 0 is missing"));
  EXPECT_EQ(running.Epsilon().value(), truth_);
}

TEST_F(PostgresRights, RightToReadIsNoOther) {
  Intrude("SELECT", "SELECT '' FROM dpledger.ledgers");
  for (const char* table : {"ledgers", "writers", "chunks", "requests", "histories", "checkpoints",
                            "tiles", "registry", "signer", "barriers"}) {
    EXPECT_THAT(Run("intruder", absl::StrCat("DELETE FROM dpledger.", table)),
                testing::HasSubstr("permission denied"));
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
