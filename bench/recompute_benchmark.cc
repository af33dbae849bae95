// How long a recomputation of many ledgers takes: the first time, when every entry is read; and
// again in a new server, from the ledgers' run-length tables.
//
//   recompute_benchmark [--seconds S]
//
// 10,000 ledgers (1000 if there are less than 10 seconds) of 1000 rounds, a sampling event and a
// sum query each; noise differs from ledger to ledger, so that no two questions are the same. The
// store is an embedded one in this folder. Prints one JSON object.
#include <atomic>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "bench/new_ledger.h"
#include "bench/program.h"
#include "dpledger/v1/recompute_service.pb.h"
#include "ledger_store/embedded/embedded_store.h"
#include "merkle/authenticator.h"
#include "server/questions/stored_history.h"
#include "server/recompute/recompute_service.h"

namespace dpledger {
namespace {

constexpr int kRounds = 1000;
constexpr int kMostWaiting = 64;

v1::AppendBatchRequest RunOf(const std::string& name, int number) {
  v1::AppendBatchRequest request;
  request.set_ledger(name);
  request.set_writer("trainer");
  request.set_request_id("run");
  for (uint64_t round = 0; round < kRounds; ++round)
    bench::AddRound(round, 0.01, 0.8 + 1e-4 * number, request);
  return request;
}

void Fill(const std::string& folder, int ledgers) {
  const auto store = bench::Must(OpenEmbeddedStore({.folder = folder}));
  std::atomic<int> waiting = 0;
  for (int i = 0; i < ledgers; ++i) {
    const std::string name = absl::StrCat("projects/bench/ledgers/run-", 100'000 + i);
    bench::Check(store->Create(bench::NewLedger(name)).status());
    while (waiting >= kMostWaiting) absl::SleepFor(absl::Milliseconds(1));
    ++waiting;
    store->AppendAsync(RunOf(name, i), [&waiting](absl::StatusOr<v1::Receipt> receipt) {
      bench::Check(receipt.status());
      --waiting;
    });
  }
  while (waiting > 0) absl::SleepFor(absl::Milliseconds(1));
}

// Seconds of one operation in a server that has just started.
double Recompute(const std::string& folder, const std::string& request_id, int ledgers,
                 const std::shared_ptr<const merkle::Authenticator>& key) {
  const auto store = bench::Must(OpenEmbeddedStore({.folder = folder}));
  const server::Log log(LogLevel::kError, 2);
  server::AccountingService accounting(store.get(), server::AccountingLimits(), nullptr,
                                       server::TableKeeping{key, nullptr});
  server::LedgerIndex index;
  server::LedgerTail tail(store.get(), &index, &log);
  tail.Start([] { return absl::OkStatus(); }, [](const std::vector<std::string>&) {});
  server::LedgerFinder finder(&tail, &index);
  server::RecomputeService service(store.get(), &accounting, &finder, {}, Clock::System(), &log);
  service.Start();
  v1::StartRecomputeRequest request;
  request.set_request_id(request_id);
  request.set_parent("projects/bench");
  const absl::Time start = absl::Now();
  v1::Operation operation = bench::Must(service.StartRecompute(request, {}));
  v1::GetOperationRequest get;
  get.set_name(operation.name());
  while (operation.state() == v1::Operation::RUNNING) {
    absl::SleepFor(absl::Milliseconds(50));
    operation = bench::Must(service.GetOperation(get));
  }
  const double taken = absl::ToDoubleSeconds(absl::Now() - start);
  if (operation.done() != static_cast<uint64_t>(ledgers) || operation.refused() > 0) {
    bench::Die("not every ledger has an answer");
  }
  service.Stop();
  tail.Stop();
  return taken;
}

int Run(int argc, char** argv) {
  const int thousands = bench::Seconds(argc, argv) < 10 ? 1 : 10;
  const bench::ScratchFolder folder;
  Fill(folder.path(), thousands * 1000);
  const auto key = std::make_shared<merkle::Authenticator>(
      bench::Must(merkle::Ed25519PrivateKey::Generate()), server::kHistoryPurpose);
  const double first = Recompute(folder.path(), "first", thousands * 1000, key);
  const double again = Recompute(folder.path(), "again", thousands * 1000, key);
  bench::Report report(absl::StrCat("recompute/", thousands, "k_ledgers_"));
  report.Add("s", first, "s");
  report.Add("again_s", again, "s");
  return 0;
}

}  // namespace
}  // namespace dpledger

int main(int argc, char** argv) { return dpledger::Run(argc, argv); }
