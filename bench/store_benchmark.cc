// How many events a second the embedded store makes durable, beside what a bare file with the same
// grouping reaches in the same run.
//
//   store_benchmark [--seconds S]
//
// 64 writers, each with one batch on its way at a time, each on a ledger of its own. The limit: 64
// writers that hand as many bytes to one thread, which appends all that waits to a file, calls
// fdatasync and answers. The same once more on ledgers whose filters the gate keeps, and on runs
// under one budget, each beside the one without. What is appended is made before the clock runs,
// the raw bytes as well as the requests: a server's requests come ready from the network. They take
// short turns, for the disk has fast and slow phases; medians of the turns are printed as one JSON
// object.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/program.h"
#include "bench/store_load.h"
#include "ledger_store/embedded/embedded_store.h"
#include "server/questions/filter_gate.h"

namespace dpledger {
namespace {

// Of a fifth of a second or so each: the requests of one fit in a few hundred MB.
constexpr int kMinTurns = 5;
constexpr double kTurnSeconds = 0.2;
// No store answers faster: so many requests are enough for every turn.
constexpr double kMostEventsPerSecond = 4e6;
constexpr double kMostCallsPerSecond = 2e5;

using bench::CallsPerSecond;
using bench::Die;
using bench::kWriters;
using bench::Median;
using RawLog = bench::BareStore<std::string>;

// Appends what waits to a file, with one thread and one fdatasync for all of it.
void AppendTo(int fd, std::string& bytes) {
  const ssize_t written = ::write(fd, bytes.data(), bytes.size());
  if (written != static_cast<ssize_t>(bytes.size()) || ::fdatasync(fd) != 0) {
    Die("the raw log cannot be written");
  }
  bytes.clear();
}

// What holds the writers' ledgers.
enum class Held { kNothing, kFilter, kBudget };

// Of a turn's writer, or of its budget.
std::string LedgerName(int turn, const std::string& writer, int batch, Held held) {
  return absl::StrCat("projects/bench/ledgers/t", turn, "w", writer, "b", batch, "h",
                      static_cast<int>(held));
}
std::string LedgerName(int turn, int writer, int batch, Held held) {
  return LedgerName(turn, absl::StrCat(writer), batch, held);
}

// Makes the writers' ledgers of a turn; the bytes of one stored event.
size_t MakeLedgers(LedgerStore& store, int turn, int batch, Held held) {
  const std::string budget = LedgerName(turn, "budget", batch, held);
  if (held == Held::kBudget) bench::MakeBudget(store, budget, /*has_blocks=*/false);
  std::string name;
  for (int w = 0; w < kWriters; ++w) {
    name = LedgerName(turn, w, batch, held);
    switch (held) {
      case Held::kNothing:
        bench::MakeLedger(store, name);
        break;
      case Held::kFilter:
        bench::MakeHeldLedger(store, name);
        break;
      case Held::kBudget:
        bench::MakeHeldLedger(store, name, budget);
        bench::Grant(store, budget, name, 1);
    }
  }
  if (!store.Append(bench::SumQueries(name, 0, 1)).ok()) Die("cannot append");
  return store.Read(name, 1, 1, 1)->at(0).size();
}

// Events a second of one turn.
double StoredIn(LedgerStore& store, int turn, int batch, Held held, double seconds) {
  const auto most_calls = static_cast<uint64_t>(
      1 + seconds / kWriters * std::min(kMostCallsPerSecond, kMostEventsPerSecond / batch));
  std::vector<std::vector<v1::AppendBatchRequest>> requests(kWriters);
  const auto make = [&](int writer) {
    for (uint64_t i = 0; i < most_calls; ++i) {
      requests[static_cast<size_t>(writer)].push_back(
          bench::SumQueries(LedgerName(turn, writer, batch, held), i + 1, batch));
    }
  };
  return batch * CallsPerSecond(seconds, most_calls, make, [&](int writer, uint64_t i) {
           const auto receipt = store.Append(std::move(requests[static_cast<size_t>(writer)][i]));
           if (!receipt.ok()) Die(std::string(receipt.status().message()));
         });
}

// Beside the raw log, and with filters and budgets kept beside without.
void Measure(LedgerStore& store, RawLog& raw, int batch, double seconds, bench::Report& report) {
  const int turns = std::max(kMinTurns, static_cast<int>(seconds / (4 * kTurnSeconds)));
  const double turn_seconds = seconds / (4 * turns);
  std::vector<double> stored, filtered, budgeted, limit;
  for (int turn = 0; turn < turns; ++turn) {
    const size_t event_bytes = MakeLedgers(store, turn, batch, Held::kNothing);
    MakeLedgers(store, turn, batch, Held::kFilter);
    MakeLedgers(store, turn, batch, Held::kBudget);
    const std::string bytes(event_bytes * static_cast<size_t>(batch), 'x');
    limit.push_back(
        batch * CallsPerSecond(
                    turn_seconds, ~uint64_t{0}, [](int) {},
                    [&](int, uint64_t) { raw.Append([&](std::string& log) { log += bytes; }); }));
    stored.push_back(StoredIn(store, turn, batch, Held::kNothing, turn_seconds));
    filtered.push_back(StoredIn(store, turn, batch, Held::kFilter, turn_seconds));
    budgeted.push_back(StoredIn(store, turn, batch, Held::kBudget, turn_seconds));
  }
  const double value = Median(stored);
  const std::string what = absl::StrCat("_64x", batch, "_events_per_s");
  report.Add("embedded" + what, value, "1/s", Median(limit));
  report.Add("filtered" + what, Median(filtered), "1/s", value);
  report.Add("budgeted" + what, Median(budgeted), "1/s", value);
}

int Run(int argc, char** argv) {
  const double seconds = bench::Seconds(argc, argv);
  const bench::ScratchFolder folder;
  EmbeddedOptions options;
  options.folder = folder.path() + "/store";
  options.keys = bench::ServerKeys();
  auto store = OpenEmbeddedStore(options);
  bench::Check(store.status());
  server::SubjectSource subjects(store->get(), size_t{64} << 20);
  server::FilterGate gate;
  gate.Start(&subjects);
  (*store)->Guard(&gate);
  const std::string path = folder.path() + "/raw.log";
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  RawLog raw({[fd](std::string& bytes) { AppendTo(fd, bytes); }});
  bench::Report report("store/");
  Measure(**store, raw, 1, seconds / 2, report);
  Measure(**store, raw, 100, seconds / 2, report);
  gate.Stop();
  store->reset();  // before the gate, which it asks to its end
  return 0;
}

}  // namespace
}  // namespace dpledger

int main(int argc, char** argv) { return dpledger::Run(argc, argv); }
