// How many events a second the PostgreSQL engine makes durable, beside what bare inserts of the
// same bytes reach on the same server in the same run.
//
//   postgres_benchmark [--seconds S]
//
// 64 writers, each with one batch of 100 events on its way at a time, each on a ledger of its own.
// The limit: 64 writers that hand the same entries to as many connections as the engine commits
// with; each inserts all batches that wait, a row an event, by one multi-row statement that is a
// transaction of its own. Same session settings, so the same synchronous_commit.
//
// Beside it, how long a grant of 1000 blocks of a budget takes, against an append of one event.
//
// All that is appended is made before the clock runs. The two take turns, for the disk has fast
// and slow phases; medians of the turns are printed as one JSON object.
#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/program.h"
#include "bench/store_load.h"
#include "ledger_store/postgres/connection.h"
#include "ledger_store/postgres/postgres_store.h"
#include "server/questions/filter_gate.h"
#include "tests/ledger_store/postgres_server.h"

namespace dpledger {
namespace {

using bench::kWriters;
using bench::Median;

constexpr int kBatch = 100;
constexpr int kMinTurns = 5;
constexpr double kTurnSeconds = 0.5;
// No engine on such a machine answers faster: so many requests are enough for every turn.
constexpr double kMostBatchesPerSecond = 1e4;

// Rows that wait for an insert.
struct Row {
  int64_t ledger;
  uint64_t sequence;
  std::string body;
};
using Rows = std::vector<Row>;
using BareInsert = bench::BareStore<Rows>;

// Inserts into a new table, with as many connections as the engine commits with.
std::vector<std::function<void(Rows&)>> InsertsInto(const PostgresServer& server, int connections) {
  server.Must(
      "CREATE TABLE bare_rows (ledger bigint, sequence bigint, body bytea,"
      " PRIMARY KEY (ledger, sequence))");
  std::vector<std::function<void(Rows&)>> inserts;
  for (int i = 0; i < connections; ++i) {
    const std::shared_ptr<postgres::Connection> connection =
        bench::Must(postgres::Connection::Open(server.Connection(), absl::Minutes(1)));
    inserts.push_back([connection](Rows& rows) {
      const std::string sql =
          "INSERT INTO bare_rows SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bytea[])";
      postgres::Columns columns("nnb");
      for (const Row& row : rows) columns.Add(row.ledger, row.sequence, row.body);
      bench::Check(connection->Run({{sql, columns.ToValues()}}).status());
      rows.clear();
    });
  }
  return inserts;
}

// One transaction's worth: rows of `ledger` from `sequence` on.
void Insert(BareInsert& insert, int64_t ledger, uint64_t sequence,
            const std::vector<std::string>& bodies) {
  insert.Append([&](Rows& rows) {
    for (const std::string& body : bodies) rows.push_back({ledger, sequence++, body});
  });
}

double EventsPerSecond(double seconds, uint64_t most_calls,
                       const std::function<void(int, uint64_t)>& append) {
  return kBatch * bench::CallsPerSecond(
                      seconds, most_calls, [](int) {}, append);
}

std::string LedgerName(int writer) { return absl::StrCat("projects/bench/ledgers/w", writer); }

// A batch's entries as they are stored.
std::vector<std::string> StoredBatch(LedgerStore& store) {
  bench::Check(store.Append(bench::SumQueries(LedgerName(0), 0, kBatch)).status());
  return bench::Must(store.Read(LedgerName(0), 1, kBatch, size_t{1} << 30));
}

double MillisecondsOf(const std::function<void()>& work) { return 1e3 * bench::SecondsOf(work); }

// Medians of a grant over so many blocks, beside an append.
void MeasureGrants(LedgerStore& store, bench::Report& report) {
  constexpr int kGrants = 60;
  const std::string budget = "projects/bench/ledgers/budget", run = "projects/bench/ledgers/run";
  bench::MakeBudget(store, budget, /*has_blocks=*/true);
  bench::MakeHeldLedger(store, run, budget, 1000);
  bench::Grant(store, budget, run, 1);
  std::vector<double> grants, appends;
  for (uint64_t i = 1; i <= kGrants; ++i) {
    grants.push_back(MillisecondsOf([&] { bench::Grant(store, budget, run, 1 + i); }));
    const v1::AppendBatchRequest one =
        bench::SumQueries(LedgerName(1), (uint64_t{1} << 40) + i, 1);  // after the load's
    appends.push_back(MillisecondsOf([&] { bench::Check(store.Append(one).status()); }));
  }
  report.Add("grant_1000_blocks_ms", Median(grants), "ms", Median(appends));
}

int Run(int argc, char** argv) {
  const double seconds = bench::Seconds(argc, argv);
  const PostgresServer server;
  PostgresOptions options;
  options.connection = server.Connection();
  options.keys = bench::ServerKeys();
  auto store = OpenPostgresStore(options);
  bench::Check(store.status());
  BareInsert rows(InsertsInto(server, options.connections / 2));
  for (int w = 0; w < kWriters; ++w) bench::MakeLedger(**store, LedgerName(w));
  const std::vector<std::string> entries = StoredBatch(**store);

  const int turns = std::max(kMinTurns, static_cast<int>(seconds / (2 * kTurnSeconds)));
  const double turn_seconds = seconds / (2 * turns);
  const auto most_calls =
      static_cast<uint64_t>(1 + turn_seconds / kWriters * kMostBatchesPerSecond);
  std::vector<double> stored, limit;
  uint64_t number = 1;  // of a writer's next batch
  for (int turn = 0; turn < turns; ++turn, number += most_calls) {
    std::vector<std::vector<v1::AppendBatchRequest>> requests(kWriters);
    for (int w = 0; w < kWriters; ++w) {
      for (uint64_t i = 0; i < most_calls; ++i) {
        requests[static_cast<size_t>(w)].push_back(
            bench::SumQueries(LedgerName(w), number + i, kBatch));
      }
    }
    limit.push_back(EventsPerSecond(turn_seconds, most_calls, [&](int writer, uint64_t i) {
      Insert(rows, writer, (number + i) * kBatch, entries);
    }));
    stored.push_back(EventsPerSecond(turn_seconds, most_calls, [&](int writer, uint64_t i) {
      bench::Check((*store)->Append(std::move(requests[static_cast<size_t>(writer)][i])).status());
    }));
  }
  bench::Report report("store/postgres_");
  report.Add(absl::StrCat("64x", kBatch, "_events_per_s"), Median(stored), "1/s", Median(limit));
  server::SubjectSource subjects(store->get(), size_t{64} << 20);
  server::FilterGate gate;
  gate.Start(&subjects);
  (*store)->Guard(&gate);
  MeasureGrants(**store, report);
  gate.Stop();
  store->reset();  // before the gate, which it asks to its end
  return 0;
}

}  // namespace
}  // namespace dpledger

int main(int argc, char** argv) { return dpledger::Run(argc, argv); }
