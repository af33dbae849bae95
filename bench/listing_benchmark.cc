// How long the summaries of 10,000 ledgers take that have none, and what keeping them up takes from
// appends. What lists cost: growth_benchmark.
//
//   listing_benchmark [--seconds S]
//
// The ledgers are those of bench/many_ledgers.h. The store is an embedded one in this folder.
// Appends are 64 writers of 100 events a batch, each to a ledger of its own, straight into the
// store, while a server has it open; with summaries and without them in turns. Prints one JSON
// object.

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "bench/local_server.h"
#include "bench/many_ledgers.h"
#include "bench/new_ledger.h"
#include "bench/program.h"
#include "ledger_store/embedded/embedded_store.h"

namespace dpledger {
namespace {

constexpr int kLedgers = 10'000;
constexpr int kWriters = 64;

void MakeLedgers(const std::string& folder) {
  auto store = bench::Must(OpenEmbeddedStore({.folder = folder}));
  bench::MakeLedgers(*store, kLedgers);
}

server::ServerOptions With(bool summaries) {
  server::ServerOptions options;
  options.summaries.on = summaries;
  return options;
}

// Events a second.
double Append(LedgerStore& store, absl::Duration time, int turn) {
  const absl::Time begin = absl::Now();
  std::atomic<uint64_t> events = 0;
  std::vector<std::thread> writers;
  for (int writer = 0; writer < kWriters; ++writer) {
    writers.emplace_back([&, writer] {
      for (uint64_t batch = 0; absl::Now() - begin < time; ++batch) {
        v1::AppendBatchRequest request;
        request.set_ledger(bench::LedgerCalled(writer));
        request.set_writer(absl::StrCat("turn", turn));
        request.set_request_id(absl::StrCat("t", turn, "-", batch));
        for (uint64_t round = 0; round < 50; ++round) {
          bench::AddRound(batch * 50 + round, 0.01, 1.1, request);
        }
        bench::Check(store.Append(std::move(request)).status());
        events += 100;
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  return static_cast<double>(events) / absl::ToDoubleSeconds(absl::Now() - begin);
}

void Run(double seconds) {
  const bench::ScratchFolder folder;
  const std::string store = folder.path() + "/store";
  MakeLedgers(store);
  bench::Report report("listing/");
  {
    const absl::Time before = absl::Now();
    const bench::LocalServer server(store, With(/*summaries=*/true));
    const auto ledgers = v1::LedgerService::NewStub(server.Connect());
    while (bench::CountListed(*ledgers, "epsilon:*") < kLedgers)
      absl::SleepFor(absl::Milliseconds(50));
    report.Add("summarise_10000_s", absl::ToDoubleSeconds(absl::Now() - before), "s");
  }
  // The best of several turns: another's load only takes away.
  double with = 0, without = 0;
  constexpr int kTurns = 5;
  for (int turn = 0; turn < 2 * kTurns; ++turn) {
    const bool summaries = turn % 2 == 0;
    bench::LocalServer server(store, With(summaries));
    double& best = summaries ? with : without;
    best = std::max(best,
                    Append(server.store(), absl::Seconds(std::max(1.0, seconds / kTurns)), turn));
  }
  report.Add("append_events_per_s_with_summaries", with, "1/s");
  report.Add("append_events_per_s_without", without, "1/s");
  report.Add("append_overhead_percent", 100 * (1 - with / without), "%");
}

}  // namespace
}  // namespace dpledger

int main(int argc, char** argv) { dpledger::Run(dpledger::bench::Seconds(argc, argv)); }
