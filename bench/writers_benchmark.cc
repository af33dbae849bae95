// How many batches a second each engine makes durable in one ledger that has many writers, beside
// what it reaches in one with 100.
//
//   writers_benchmark [--seconds S]
//
// 64 threads with one batch of one note on its way each, of another writer of the ledger each
// time. Ledgers of 100, 10^4 and 10^5 writers take turns, for the disk has fast and slow phases;
// medians of the turns are printed as one JSON object.
#include <atomic>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "bench/program.h"
#include "bench/store_load.h"
#include "ledger_store/embedded/embedded_store.h"
#include "ledger_store/postgres/postgres_store.h"
#include "tests/ledger_store/postgres_server.h"

namespace dpledger {
namespace {

using bench::Median;

constexpr int kTurns = 5;
constexpr int kEngines = 2;
constexpr uint64_t kWriterCounts[] = {100, 10'000, 100'000};

// Batch number `number` of the run: of writer `number` modulo the ledger's writers.
v1::AppendBatchRequest Batch(const std::string& ledger, uint64_t number, uint64_t writers) {
  v1::AppendBatchRequest request;
  request.set_ledger(ledger);
  request.set_writer(absl::StrFormat("writer-%08d", number % writers));
  request.set_request_id(absl::StrCat("batch-", number));
  // Not an event: two threads may pass a writer's batches in either order.
  request.add_entries()->mutable_note()->set_text("one more");
  return request;
}

// The first batch of each writer, with so many on their way that the disk is no matter.
void AddWriters(LedgerStore& store, const std::string& ledger, uint64_t writers) {
  constexpr uint64_t kOnTheirWay = 2000;
  absl::Mutex mutex;
  uint64_t waiting = 0;
  for (uint64_t i = 0; i < writers; ++i) {
    const auto has_room = [&] { return waiting < kOnTheirWay; };
    {
      absl::MutexLock lock(&mutex, absl::Condition(&has_room));
      ++waiting;
    }
    store.AppendAsync(Batch(ledger, i, writers), [&](const absl::StatusOr<v1::Receipt>& receipt) {
      bench::Check(receipt.status());
      absl::MutexLock lock(&mutex);
      --waiting;
    });
  }
  const auto none_waits = [&] { return waiting == 0; };
  absl::MutexLock lock(&mutex, absl::Condition(&none_waits));
}

struct Ledger {
  std::string name;
  uint64_t writers;
  std::atomic<uint64_t> next;
  std::vector<double> batches_per_second;
};

// The rows of the JSON object that are of this engine.
std::vector<std::string> Measure(LedgerStore& store, const std::string& engine, double seconds) {
  const double turn_seconds = seconds / (kTurns * std::size(kWriterCounts));
  std::vector<Ledger> ledgers(std::size(kWriterCounts));
  for (size_t i = 0; i < ledgers.size(); ++i) {
    Ledger& ledger = ledgers[i];
    ledger.writers = ledger.next = kWriterCounts[i];
    ledger.name = absl::StrCat("projects/bench/ledgers/w", ledger.writers);
    bench::MakeLedger(store, ledger.name);
    AddWriters(store, ledger.name, ledger.writers);
  }
  for (int turn = 0; turn < kTurns; ++turn) {
    for (Ledger& ledger : ledgers) {
      ledger.batches_per_second.push_back(bench::CallsPerSecond(
          turn_seconds, ~uint64_t{0}, [](int) {},
          [&](int, uint64_t) {
            bench::Check(store.Append(Batch(ledger.name, ledger.next++, ledger.writers)).status());
          }));
    }
  }
  const double limit = Median(ledgers[0].batches_per_second);
  std::vector<std::string> rows;
  for (const Ledger& ledger : ledgers) {
    const double value = Median(ledger.batches_per_second);
    rows.push_back(
        absl::StrFormat("  \"writers/%s%d_batches_per_s\": {\"value\": %.0f, \"unit\": \"1/s\", "
                        "\"limit\": %.0f, \"ratio\": %.4f}",
                        engine, static_cast<int>(ledger.writers), value, limit, value / limit));
  }
  return rows;
}

int Run(int argc, char** argv) {
  const double seconds = bench::Seconds(argc, argv) / kEngines;
  std::vector<std::string> rows;
  {
    const bench::ScratchFolder folder;
    EmbeddedOptions options;
    options.folder = folder.path() + "/store";
    options.keys = bench::ServerKeys();
    auto store = OpenEmbeddedStore(options);
    bench::Check(store.status());
    rows = Measure(**store, "", seconds);
  }
  const PostgresServer server;
  PostgresOptions options;
  options.connection = server.Connection();
  options.keys = bench::ServerKeys();
  auto store = OpenPostgresStore(options);
  bench::Check(store.status());
  for (std::string& row : Measure(**store, "postgres_", seconds)) rows.push_back(std::move(row));
  std::printf("{\n%s\n}\n", absl::StrJoin(rows, ",\n").c_str());
  return 0;
}

}  // namespace
}  // namespace dpledger

int main(int argc, char** argv) { return dpledger::Run(argc, argv); }
