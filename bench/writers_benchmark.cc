// How many batches a second each engine makes durable in one ledger that has many writers, beside
// what it reaches in one with 100.
//
//   writers_benchmark [--seconds S]
//
// 64 threads with one batch of one note on its way each, of another writer of the ledger each
// time. Ledgers of 100, 10^4 and 10^5 writers take turns, for the disk has fast and slow phases;
// medians of the turns are printed as one JSON object.
#include <atomic>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
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

void Measure(LedgerStore& store, const std::string& engine, double seconds, bench::Report& report) {
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
  for (const Ledger& ledger : ledgers) {
    report.Add(absl::StrCat(engine, ledger.writers, "_batches_per_s"),
               bench::Median(ledger.batches_per_second), "1/s",
               bench::Median(ledgers[0].batches_per_second));
  }
}

int Run(int argc, char** argv) {
  const double seconds = bench::Seconds(argc, argv) / kEngines;
  bench::Report report("writers/");
  {
    const bench::ScratchFolder folder;
    EmbeddedOptions options;
    options.folder = folder.path() + "/store";
    options.keys = bench::ServerKeys();
    auto store = bench::Must(OpenEmbeddedStore(options));
    Measure(*store, "", seconds, report);
  }
  const PostgresServer server;
  PostgresOptions options;
  options.connection = server.Connection();
  options.keys = bench::ServerKeys();
  auto store = bench::Must(OpenPostgresStore(options));
  Measure(*store, "postgres_", seconds, report);
  return 0;
}

}  // namespace
}  // namespace dpledger

int main(int argc, char** argv) { return dpledger::Run(argc, argv); }
