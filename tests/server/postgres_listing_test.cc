// Summaries over restarts, on both engines; and several servers on one database.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "dpledger/v1/stored.pb.h"
#include "ledger_store/embedded/embedded_store.h"
#include "ledger_store/postgres/postgres_store.h"
#include "server/server.h"
#include "tests/ledger_store/postgres_server.h"
#include "tests/ledger_store/requests.h"
#include "tests/ledger_store/temp_folder.h"

namespace dpledger::server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

PostgresServer& Database() {
  static PostgresServer server;
  return server;
}

std::string Name(const std::string& id) { return absl::StrCat("projects/p/ledgers/", id); }

template <typename T>
T Must(absl::StatusOr<T> result) {
  if (!result.ok()) throw std::runtime_error(result.status().ToString());
  return *std::move(result);
}

enum class EngineKind { kEmbedded, kPostgres };

// One store, and the servers that are started on it.
class Summaries : public ::testing::TestWithParam<EngineKind> {
 protected:
  ~Summaries() override {
    servers_.clear();
    if (GetParam() == EngineKind::kPostgres) Database().Must("DROP SCHEMA dpledger CASCADE");
  }

  std::unique_ptr<LedgerStore> OpenStore() {
    if (GetParam() == EngineKind::kEmbedded) {
      return Must(OpenEmbeddedStore({.folder = folder_.path() + "/store"}));
    }
    PostgresOptions options;
    options.connection = Database().Connection();
    return Must(OpenPostgresStore(options));
  }
  Server& Start(double delta = 1e-5) {
    ServerOptions options;
    options.front.address = "127.0.0.1:0";
    options.signing.every = absl::Milliseconds(200);
    options.signing.key_file = folder_.path() + "/key";
    options.signing.checkpoint_file = absl::StrCat(folder_.path(), "/checkpoint", servers_.size());
    options.signing.accept_missing_checkpoint = true;
    options.accounting.usual_delta = delta;
    auto store = OpenStore();
    stores_.push_back(store.get());
    servers_.push_back(Must(Server::Start(options, std::move(store), &log_)));
    return *servers_.back();
  }
  void StopAll() {
    servers_.clear();
    stores_.clear();
  }
  std::string Logged() {
    std::string text(size_t{1} << 16, '\0');
    const ssize_t read = ::pread(::fileno(log_file_.get()), text.data(), text.size(), 0);
    return text.substr(0, read < 0 ? 0 : static_cast<size_t>(read));
  }

  static v1::ListLedgersResponse List(Server& server, const std::string& filter = "") {
    v1::ListLedgersRequest request;
    request.set_parent("projects/-");
    request.set_filter(filter);
    request.set_page_size(1000);
    CallContext call;
    call.deadline = absl::Now() + absl::Seconds(60);
    return Must(server.lists().ListLedgers(request, call));
  }
  // Once all of them have summaries of all their entries: id -> summary.
  static std::map<std::string, v1::LedgerSummary> Summarised(Server& server) {
    while (true) {
      const v1::ListLedgersResponse list = List(server);
      std::map<std::string, v1::LedgerSummary> summaries;
      for (int i = 0; i < list.ledgers_size(); ++i) {
        if (list.summaries(i).size() != list.ledgers(i).size()) break;
        summaries[list.ledgers(i).name()] = list.summaries(i);
      }
      if (static_cast<int>(summaries.size()) == list.ledgers_size()) return summaries;
      absl::SleepFor(absl::Milliseconds(10));
    }
  }
  void Rounds(LedgerStore& store, const std::string& id, uint64_t count) {
    v1::AppendBatchRequest batch = Batch(Name(id), "w", absl::StrCat("r", ++requests_));
    v1::RoundsEvent& rounds = *batch.add_entries()->mutable_event()->mutable_rounds();
    rounds.mutable_scheme()->mutable_poisson()->set_probability(0.01);
    rounds.set_count(count);
    rounds.add_queries()->set_l2_norm_bound(1);
    rounds.mutable_queries(0)->set_noise_stddev(1);
    Must(store.Append(batch));
  }
  void MakeLedgers(LedgerStore& store) {
    for (const char* id : {"a", "b", "c"}) {
      Must(store.Create(CreateRequest(Name(id))));
      Rounds(store, id, static_cast<uint64_t>(1000 * (id[0] - '`')));
    }
  }

  TempFolder folder_;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> log_file_{std::tmpfile(), &std::fclose};
  const Log log_{LogLevel::kInfo, ::fileno(log_file_.get())};
  std::vector<LedgerStore*> stores_;  // the servers'
  std::vector<std::unique_ptr<Server>> servers_;
  int requests_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Engines, Summaries,
                         ::testing::Values(EngineKind::kEmbedded, EngineKind::kPostgres),
                         [](const auto& kind) {
                           return kind.param == EngineKind::kEmbedded ? "Embedded" : "Postgres";
                         });

TEST_P(Summaries, AreThereAfterARestartAndNotMadeAnew) {
  Server& first = Start();
  MakeLedgers(*stores_[0]);
  const auto before = Summarised(first);
  ASSERT_EQ(before.size(), 3u);
  StopAll();
  const auto after = Summarised(Start());
  for (const auto& [name, summary] : before) {
    EXPECT_EQ(after.at(name).SerializeAsString(), summary.SerializeAsString()) << name;
  }
  EXPECT_THAT(Logged(), Not(HasSubstr("summaries_dropped")));
}

TEST_P(Summaries, OfAStoreThatHasNoneAreMade) {
  MakeLedgers(*OpenStore());
  EXPECT_EQ(Summarised(Start()).size(), 3u);
  EXPECT_THAT(Logged(), Not(HasSubstr("summaries_dropped")));
}

TEST_P(Summaries, OfAnotherDeltaAreMadeAnew) {
  Server& first = Start();
  MakeLedgers(*stores_[0]);
  const double at_usual = Summarised(first).at(Name("a")).epsilon().upper();
  StopAll();
  Server& second = Start(1e-9);
  while (true) {
    const v1::LedgerSummary summary = Summarised(second).at(Name("a"));
    if (summary.delta() == 1e-9) {
      EXPECT_GT(summary.epsilon().upper(), at_usual);
      break;
    }
    absl::SleepFor(absl::Milliseconds(10));
  }
}

// Whatever is changed: dropped, said, and made anew; never believed.
TEST_P(Summaries, ThatWereChangedAreDroppedSaidAndMadeAnew) {
  using Change = std::function<void(std::map<std::string, std::string> & rows)>;
  const auto smaller_epsilon = [](std::string& row) {
    v1::StoredSummary stored;
    v1::LedgerSummary summary;
    ASSERT_TRUE(stored.ParseFromString(row) && summary.ParseFromString(stored.summary()));
    summary.mutable_epsilon()->set_upper(0.001);
    stored.set_summary(summary.SerializeAsString());
    row = stored.SerializeAsString();
  };
  const std::vector<std::pair<std::string, Change>> changes = {
      {"another epsilon", [&](auto& rows) { smaller_epsilon(rows[Name("b")]); }},
      {"another ledger's", [](auto& rows) { rows[Name("b")] = rows[Name("a")]; }},
      {"cut off", [](auto& rows) { rows[Name("b")].resize(20); }},
      {"none", [](auto& rows) { rows[Name("b")].clear(); }},
      {"no code", [](auto& rows) {
         v1::StoredSummary stored;
         ASSERT_TRUE(stored.ParseFromString(rows[Name("b")]));
         stored.clear_authenticator();
         rows[Name("b")] = stored.SerializeAsString();
       }}};
  Server& first = Start();
  MakeLedgers(*stores_[0]);
  const auto before = Summarised(first);
  StopAll();
  for (const auto& [what, change] : changes) {
    SCOPED_TRACE(what);
    const size_t logged = Logged().size();
    {
      const auto store = OpenStore();
      std::map<std::string, std::string> rows;
      for (const SummaryRow& row : Must(store->ReadSummaries({}))) rows[row.ledger] = row.bytes;
      ASSERT_EQ(rows.size(), 3u);
      change(rows);
      ASSERT_TRUE(store->PutSummaries({{Name("b"), rows[Name("b")]}}).ok());
    }
    const auto after = Summarised(Start());
    EXPECT_EQ(after.at(Name("b")).epsilon().SerializeAsString(),
              before.at(Name("b")).epsilon().SerializeAsString());
    EXPECT_EQ(after.at(Name("a")).SerializeAsString(), before.at(Name("a")).SerializeAsString());
    EXPECT_THAT(Logged().substr(logged),
                HasSubstr("\"event\":\"summaries_dropped\",\"count\":1,\"ledger\":\"" + Name("b")));
    StopAll();
  }
}

// An older row, put back, is of fewer entries: it is shown as such at most, and made anew.
TEST_P(Summaries, ThatWerePutBackAreMadeAnew) {
  Server& first = Start();
  MakeLedgers(*stores_[0]);
  Summarised(first);
  StopAll();
  std::vector<SummaryRow> older = Must(OpenStore()->ReadSummaries({Name("b")}));
  ASSERT_EQ(older.size(), 1u);
  Server& second = Start();
  Rounds(*stores_[0], "b", 5000);
  const auto before = Summarised(second);
  StopAll();
  ASSERT_TRUE(OpenStore()->PutSummaries(older).ok());
  const auto after = Summarised(Start());
  EXPECT_EQ(after.at(Name("b")).rounds(), 7000u);
  EXPECT_EQ(after.at(Name("b")).epsilon().upper(), before.at(Name("b")).epsilon().upper());
}

// ---- Several servers on one database ----

class SeveralServers : public Summaries {};
INSTANTIATE_TEST_SUITE_P(Engines, SeveralServers, ::testing::Values(EngineKind::kPostgres),
                         [](const auto&) { return "Postgres"; });

TEST_P(SeveralServers, ListWhatTheOtherStoresAtOnce) {
  Start();
  Start();
  MakeLedgers(*stores_[0]);
  EXPECT_EQ(List(*servers_[1]).ledgers_size(), 3);
  for (int i = 0; i < 20; ++i) {  // signed meanwhile, by one of them
    LedgerStore& writer = *stores_[static_cast<size_t>(i % 2)];
    Rounds(writer, "a", 1);
    const v1::ListLedgersResponse list =
        List(*servers_[static_cast<size_t>(1 - i % 2)], "name:ledgers/a");
    ASSERT_EQ(list.ledgers_size(), 1);
    EXPECT_EQ(list.ledgers(0).size(), static_cast<uint64_t>(3 + i));
    absl::SleepFor(absl::Milliseconds(30));
  }
  EXPECT_EQ(Summarised(*servers_[0]).at(Name("a")).epsilon().SerializeAsString(),
            Summarised(*servers_[1]).at(Name("a")).epsilon().SerializeAsString());
}

TEST_P(SeveralServers, WatchTellsOfTheOthersLedgers) {
  Start();
  Start();
  v1::WatchLedgersRequest request;
  request.set_parent("projects/-");
  const auto watch = Must(servers_[1]->lists().WatchLedgers(request, {}));
  MakeLedgers(*stores_[0]);
  std::map<std::string, uint64_t> sizes;
  while (sizes[Name("a")] < 2 || sizes[Name("b")] < 2 || sizes[Name("c")] < 2) {
    bool more = false;
    if (const auto next = watch->Next(more); next.has_value()) {
      for (const v1::Ledger& ledger : next->ledgers()) sizes[ledger.name()] = ledger.size();
    }
    absl::SleepFor(absl::Milliseconds(10));
  }
}

// The others are listed and signed as before; it is said, and looked at again.
TEST_P(SeveralServers, DamagedLedgerKeepsNoOtherBack) {
  Server& server = Start();
  MakeLedgers(*stores_[0]);
  Summarised(server);
  // The signer, which ends once it has met a damaged ledger, sees b's damage and c's round at once:
  // its lease is locked until both are there.
  std::thread damage([] {
    Database().Must(
        "DO $$BEGIN"
        " PERFORM 1 FROM dpledger.signer WHERE id = 1 FOR UPDATE;"
        " UPDATE dpledger.ledgers SET unsigned = true, next_seq = next_seq + 1"
        "   WHERE name = 'projects/p/ledgers/b';"
        " WHILE (SELECT next_seq FROM dpledger.ledgers WHERE name = 'projects/p/ledgers/c') < 3 "
        "LOOP"
        "   PERFORM pg_sleep(0.01);"
        " END LOOP;"
        "END$$");
  });
  Database().Await(
      "SELECT count(*) FROM pg_locks JOIN pg_class ON pg_class.oid = relation"
      " WHERE relname = 'signer' AND mode = 'RowShareLock' AND granted",
      "1");
  Rounds(*stores_[0], "c", 1);
  damage.join();
  v1::ListLedgersResponse list;
  while (list.damaged().empty()) list = List(server);
  ASSERT_EQ(list.ledgers_size(), 3);
  EXPECT_EQ(list.ledgers(2).size(), 3u);
  ASSERT_EQ(list.damaged_size(), 1);
  EXPECT_EQ(list.damaged(0).name(), Name("b"));
  EXPECT_THAT(list.damaged(0).message(), HasSubstr(Name("b") + ": "));
  EXPECT_THAT(Logged(), HasSubstr("ledger_damaged"));
  while (true) {
    const auto checkpoint = stores_[0]->checkpoints().Latest(Name("c"));
    if (checkpoint.ok() && checkpoint->size() == 3) break;
    absl::SleepFor(absl::Milliseconds(10));
  }
  Database().Must(
      "UPDATE dpledger.ledgers SET next_seq = next_seq - 1 WHERE name = 'projects/p/ledgers/b'");
  while (!list.damaged().empty()) list = List(server);
  EXPECT_EQ(list.ledgers_size(), 3);
}

// The database goes away and comes back: lists say so, then have everything.
TEST_P(SeveralServers, FollowTheDatabaseAgainAfterItWasAway) {
  Server& server = Start();
  MakeLedgers(*stores_[0]);
  Summarised(server);
  Database().Must(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND"
      " datname = current_database()");
  Must(stores_[0]->Create(CreateRequest(Name("d"))));
  while (true) {
    v1::ListLedgersRequest request;
    request.set_parent("projects/p");
    CallContext call;
    call.deadline = absl::Now() + absl::Seconds(60);
    const auto list = server.lists().ListLedgers(request, call);
    if (list.ok()) {
      EXPECT_EQ(list->ledgers_size(), 4);
      break;
    }
    EXPECT_TRUE(absl::IsUnavailable(list.status())) << list.status();
  }
}

}  // namespace
}  // namespace dpledger::server
