// What signing costs: how many stored entries a second a notary reads again, hashes and signs, and
// what that takes from writers beside it.
//
//   notary_benchmark [--seconds S]
//
// The second measurement: 64 writers, each with batches of 100 events on a ledger of its own, in
// turns without and with a notary that signs all 64 ledgers every quarter of a second. Every entry
// is read again once however often the notary signs, so only the cost of a round itself is counted
// more often than at the server's five seconds. The limit is the rate without it. Medians of the
// turns are printed as one JSON object. Then, once for each engine, how long it takes to sign
// 10,000 ledgers that have changed.
#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "bench/program.h"
#include "bench/store_load.h"
#include "ledger_store/embedded/embedded_store.h"
#include "ledger_store/evidence/notary.h"
#include "ledger_store/postgres/postgres_store.h"
#include "tests/ledger_store/postgres_server.h"

namespace dpledger {
namespace {

using bench::Check;
using bench::kWriters;
using bench::Median;

constexpr int kBatch = 100;
constexpr double kTurnSeconds = 1;
constexpr absl::Duration kSignEvery = absl::Milliseconds(250);

std::string LedgerName(int turn, int writer) {
  return absl::StrCat("projects/bench/ledgers/t", turn, "w", writer);
}

// Signs all there is; how many entries that were.
uint64_t SignAll(Notary& notary) {
  uint64_t entries = 0;
  while (true) {
    const absl::StatusOr<SigningRound> round = notary.Sign();
    Check(round.status());
    entries += round->entries;
    if (!round->more) return entries;
  }
}

double AppendedPerSecond(LedgerStore& store, int turn) {
  for (int w = 0; w < kWriters; ++w) bench::MakeLedger(store, LedgerName(turn, w));
  return kBatch *
         bench::CallsPerSecond(
             kTurnSeconds, ~uint64_t{0}, [](int) {},
             [&](int writer, uint64_t i) {
               Check(store.Append(bench::SumQueries(LedgerName(turn, writer), i, kBatch)).status());
             });
}

double AppendedBesideNotary(LedgerStore& store, Notary& notary, int turn) {
  absl::Notification stop;
  std::thread signing([&] {
    while (!stop.WaitForNotificationWithTimeout(kSignEvery)) SignAll(notary);
  });
  const double rate = AppendedPerSecond(store, turn);
  stop.Notify();
  signing.join();
  return rate;
}

// How long it takes to sign 10,000 ledgers that have one new batch each. Each was signed before.
double SecondsToSignMany(LedgerStore& store, Notary& notary) {
  constexpr int kLedgers = 10'000;
  const auto name = [](int i) { return absl::StrCat("projects/many/ledgers/l", i); };
  const auto in_parallel = [](const auto& work) {
    std::vector<std::thread> threads;
    for (int t = 0; t < kWriters; ++t)
      threads.emplace_back([&work, t] {
        for (int i = t; i < kLedgers; i += kWriters) work(i);
      });
    for (std::thread& thread : threads) thread.join();
  };
  in_parallel([&](int i) { bench::MakeLedger(store, name(i)); });
  SignAll(notary);
  in_parallel([&](int i) { Check(store.Append(bench::SumQueries(name(i), 0, 1)).status()); });
  const absl::Time start = absl::Now();
  SignAll(notary);
  return absl::ToDoubleSeconds(absl::Now() - start);
}

std::unique_ptr<Notary> OpenNotary(LedgerStore& store, const std::string& checkpoint_file) {
  NotaryOptions options;
  auto key = merkle::Ed25519PrivateKey::Generate();
  Check(key.status());
  options.key = std::make_shared<const merkle::Ed25519PrivateKey>(*std::move(key));
  options.checkpoint_file = checkpoint_file;
  options.holder = "notary";
  return bench::Must(Notary::Open(options, store));
}

double SecondsInDatabase(const std::string& checkpoint_file) {
  const PostgresServer server;
  PostgresOptions options;
  options.connection = server.Connection();
  options.keys = bench::ServerKeys();
  auto store = bench::Must(OpenPostgresStore(options));
  return SecondsToSignMany(*store, *OpenNotary(*store, checkpoint_file));
}

void Run(double seconds) {
  const bench::ScratchFolder folder;
  auto store = bench::Must(
      OpenEmbeddedStore({.folder = folder.path() + "/store", .keys = bench::ServerKeys()}));
  const auto notary = OpenNotary(*store, folder.path() + "/checkpoint");

  std::vector<double> without, with, signed_per_second;
  const int turns = std::max(3, static_cast<int>(seconds / (3 * kTurnSeconds)));
  for (int turn = 0; turn < turns; ++turn) {
    without.push_back(AppendedPerSecond(*store, 2 * turn));
    const absl::Time start = absl::Now();
    const uint64_t entries = SignAll(*notary);
    signed_per_second.push_back(static_cast<double>(entries) /
                                absl::ToDoubleSeconds(absl::Now() - start));
    with.push_back(AppendedBesideNotary(*store, *notary, 2 * turn + 1));
    SignAll(*notary);
  }
  bench::Report report("notary/");
  report.Add("signed_entries_per_s", Median(signed_per_second), "1/s");
  report.Add("append_64x100_beside_events_per_s", Median(with), "1/s", Median(without));
  report.Add("sign_10k_changed_ledgers_s", SecondsToSignMany(*store, *notary), "s");
  report.Add("postgres_sign_10k_changed_ledgers_s", SecondsInDatabase(folder.path() + "/database"),
             "s");
}

}  // namespace
}  // namespace dpledger

int main(int argc, char** argv) { dpledger::Run(dpledger::bench::Seconds(argc, argv)); }
