// What grows with the number of ledgers that a server holds: 10^3, 10^4 and, with --seconds 60 and
// more, 10^5 of them, in the embedded store and in PostgreSQL.
//
//   growth_benchmark [--seconds S]
//
// The ledgers have one batch each, and are signed. Prints one JSON object: the start until
// calls are answered, lists over gRPC (medians of five), ε of one ledger again, memory for each
// ledger, and the processor time of a server that nobody asks, and that still looks at the evidence
// that its start has left (server/signing/evidence_check.h).
#include <sys/resource.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "bench/local_server.h"
#include "bench/new_ledger.h"
#include "bench/program.h"
#include "bench/store_load.h"
#include "dpledger/v1/accounting_service.grpc.pb.h"
#include "dpledger/v1/ledger_service.grpc.pb.h"
#include "ledger_store/embedded/embedded_store.h"
#include "ledger_store/postgres/postgres_store.h"
#include "tests/ledger_store/postgres_server.h"

// jemalloc's, if the program is linked with it.
extern "C" int mallctl(const char* name, void* old_value, size_t* old_size, void* new_value,
                       size_t new_size) __attribute__((weak));

namespace dpledger {
namespace {

constexpr int kTimes = 5;
constexpr uint32_t kPage = 1000;

std::string LedgerCalled(int number) {
  return absl::StrFormat("projects/bench/ledgers/l%06d", number);
}

// One batch of two kinds of rounds, over one of 100 data sets.
void Make(LedgerStore& store, int number) {
  v1::CreateLedgerRequest request = bench::NewLedger(LedgerCalled(number));
  request.mutable_declaration()->set_dataset(absl::StrCat("data-", number % 100));
  bench::Check(store.Create(request).status());
  v1::AppendBatchRequest batch;
  batch.set_ledger(LedgerCalled(number));
  batch.set_writer("w");
  batch.set_request_id("rounds");
  for (const double noise : {1.0, 1.5}) {
    v1::RoundsEvent& rounds = *batch.add_entries()->mutable_event()->mutable_rounds();
    rounds.mutable_scheme()->mutable_poisson()->set_probability(0.01);
    rounds.set_count(static_cast<uint64_t>(100 + number % 10));
    rounds.add_queries()->set_l2_norm_bound(1);
    rounds.mutable_queries(0)->set_noise_stddev(noise);
  }
  bench::Check(store.Append(std::move(batch)).status());
}

void MakeLedgers(LedgerStore& store, int count) {
  std::vector<std::thread> makers;
  for (int maker = 0; maker < bench::kWriters; ++maker) {
    makers.emplace_back([&store, count, maker] {
      for (int number = maker; number < count; number += bench::kWriters) Make(store, number);
    });
  }
  for (std::thread& maker : makers) maker.join();
}

// Of one engine, opened again for each server.
using OpenStore = std::function<absl::StatusOr<std::unique_ptr<LedgerStore>>()>;

class GrowingServer {
 public:
  GrowingServer(const OpenStore& open, const std::string& folder)
      : server_(bench::Must(open()), folder),
        start_seconds_(absl::ToDoubleSeconds(absl::Now() - before_)),
        ledgers_(v1::LedgerService::NewStub(server_.Connect())),
        accounting_(v1::AccountingService::NewStub(server_.Connect())) {}

  LedgerStore& store() { return server_.store(); }
  double start_seconds() const { return start_seconds_; }

  // How many ledgers with an ε are on so many pages.
  int List(const std::string& filter, const std::string& order_by, int pages, uint32_t page_size) {
    int found = 0;
    v1::ListLedgersRequest request;
    request.set_parent("projects/-");
    request.set_page_size(page_size);
    request.set_filter(filter);
    request.set_order_by(order_by);
    do {
      grpc::ClientContext context;
      v1::ListLedgersResponse page;
      Check(ledgers_->ListLedgers(&context, request, &page));
      for (const v1::LedgerSummary& summary : page.summaries()) found += summary.has_epsilon();
      request.set_page_token(page.next_page_token());
    } while (!request.page_token().empty() && --pages > 0);
    return found;
  }
  void ListDatasets() {
    v1::ListDatasetsRequest request;
    request.set_parent("projects/-");
    v1::ListDatasetsResponse response;
    grpc::ClientContext context;
    Check(ledgers_->ListDatasets(&context, request, &response));
    if (response.datasets_size() != 100) bench::Die("a data set is missing");
  }
  void Epsilon(int ledger) {
    v1::ComputeEpsilonRequest request;
    request.mutable_subject()->add_ledgers(LedgerCalled(ledger));
    request.set_delta(1e-6);
    v1::ComputeEpsilonResponse response;
    grpc::ClientContext context;
    Check(accounting_->ComputeEpsilon(&context, request, &response));
  }

 private:
  static void Check(const grpc::Status& status) {
    if (!status.ok()) bench::Die(status.error_message());
  }

  const absl::Time before_ = absl::Now();
  bench::LocalServer server_;
  const double start_seconds_;
  const std::unique_ptr<v1::LedgerService::Stub> ledgers_;
  const std::unique_ptr<v1::AccountingService::Stub> accounting_;
};

double Milliseconds(const std::function<void()>& work) {
  std::vector<double> times;
  for (int i = 0; i < kTimes; ++i) times.push_back(1e3 * bench::SecondsOf(work));
  return bench::Median(times);
}

// What the program has asked for and not given back; 0 without jemalloc. Not what is resident: a
// server before leaves memory behind that the next one takes.
double HeldBytes() {
  uint64_t now = 1;
  size_t held = 0, size = sizeof(now);
  if (mallctl == nullptr || mallctl("epoch", &now, &size, &now, size) != 0) return 0;
  size = sizeof(held);
  return mallctl("stats.allocated", &held, &size, nullptr, 0) == 0 ? static_cast<double>(held) : 0;
}

double ProcessorMilliseconds() {
  rusage used = {};
  getrusage(RUSAGE_SELF, &used);
  return 1e3 * static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         1e-3 * static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

void Measure(const std::string& engine, const OpenStore& open, const std::string& folder,
             int ledgers, bench::Report& report) {
  const auto print = [&](const char* name, double value, const char* unit) {
    report.Add(absl::StrCat(engine, "_", ledgers, "_", name), value, unit);
  };
  {
    GrowingServer server(open, folder);
    MakeLedgers(server.store(), ledgers);
    // Until all have their ε. What is not signed then is signed as the server ends.
    while (server.List("epsilon:*", "", 1'000'000, kPage) < ledgers) {
      absl::SleepFor(absl::Milliseconds(100));
    }
  }
  const double before = HeldBytes();
  GrowingServer server(open, folder);
  print("start_ms", 1e3 * server.start_seconds(), "ms");
  if (server.List("", "", 1'000'000, kPage) != ledgers) bench::Die("a summary is missing");
  print("bytes_a_ledger", (HeldBytes() - before) / ledgers, "B");
  print("first_page_ms", Milliseconds([&] { server.List("", "", 1, 100); }), "ms");
  print("all_pages_ms", Milliseconds([&] { server.List("", "", 1'000'000, kPage); }), "ms");
  print("filter_nothing_ms", Milliseconds([&] { server.List("name:none", "", 1, 100); }), "ms");
  print("filter_dataset_ms", Milliseconds([&] { server.List("dataset = data-7", "", 1, 100); }),
        "ms");
  // The first who asks for an order waits until it is made.
  print("order_made_ms", 1e3 * bench::SecondsOf([&] { server.List("", "epsilon desc", 1, 100); }),
        "ms");
  print("order_first_page_ms", Milliseconds([&] { server.List("", "epsilon desc", 1, 100); }),
        "ms");
  print("order_all_pages_ms",
        Milliseconds([&] { server.List("", "epsilon desc", 1'000'000, kPage); }), "ms");
  print("datasets_ms", Milliseconds([&] { server.ListDatasets(); }), "ms");
  print("epsilon_warm_ms", Milliseconds([&] { server.Epsilon(ledgers / 2); }), "ms");
  constexpr double kUnaskedSeconds = 3;
  const double used = ProcessorMilliseconds();
  absl::SleepFor(absl::Seconds(kUnaskedSeconds));
  print("unasked_ms_a_second", (ProcessorMilliseconds() - used) / kUnaskedSeconds, "ms");
}

void Run(double seconds) {
  std::vector<int> sizes = {1000, 10'000};
  if (seconds >= 60) sizes.push_back(100'000);
  const bench::ScratchFolder folder;
  bench::Report report("growth/");
  for (const int ledgers : sizes) {
    const std::string place = absl::StrCat(folder.path(), "/", ledgers);
    Measure(
        "embedded", [&] { return OpenEmbeddedStore({.folder = place}); }, place, ledgers, report);
    const PostgresServer database;
    const std::string beside = absl::StrCat(place, "-postgres");
    Measure(
        "postgres",
        [&] {
          PostgresOptions options;
          options.connection = database.Connection();
          return OpenPostgresStore(options);
        },
        beside, ledgers, report);
  }
}

}  // namespace
}  // namespace dpledger

int main(int argc, char** argv) { dpledger::Run(dpledger::bench::Seconds(argc, argv)); }
