// How long the summaries of 10,000 ledgers take that have none, and what keeping them up takes from
// appends. What lists cost: growth_benchmark.
//
//   listing_benchmark [--seconds S]
//
// The ledgers are those of bench/many_ledgers.h. The store is an embedded one in this folder.
// Appends are 64 writers of 100 events a batch, each to a ledger of its own, straight into the
// store, while a server has it open; with summaries and without them in turns. Prints one JSON
// object.
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "bench/many_ledgers.h"
#include "bench/program.h"
#include "dpledger/v1/ledger_service.grpc.pb.h"
#include "ledger_store/embedded/embedded_store.h"
#include "server/server.h"

namespace dpledger {
namespace {

constexpr int kLedgers = 10'000;
constexpr int kWriters = 64;
constexpr uint32_t kPage = 1000;

void MakeLedgers(const std::string& folder) {
  auto store = bench::Must(OpenEmbeddedStore({.folder = folder}));
  bench::MakeLedgers(*store, kLedgers);
}

class BenchServer {
 public:
  BenchServer(const std::string& folder, bool summaries) : log_(server::LogLevel::kError, 2) {
    auto store = bench::Must(OpenEmbeddedStore({.folder = folder}));
    store_ = store.get();
    server::ServerOptions options;
    options.front.address = "127.0.0.1:0";
    options.signing = server::SigningOptions::Beside(folder);
    options.summaries.on = summaries;
    auto started = bench::Must(server::Server::Start(options, std::move(store), &log_));
    server_ = std::move(started);
    ledgers_ = v1::LedgerService::NewStub(grpc::CreateChannel(
        absl::StrCat("127.0.0.1:", server_->port()), grpc::InsecureChannelCredentials()));
  }

  LedgerStore& store() { return *store_; }

  // How many ledgers have an ε.
  int Summarised() {
    int found = 0;
    v1::ListLedgersRequest request;
    request.set_parent("projects/-");
    request.set_page_size(kPage);
    request.set_filter("epsilon:*");
    do {
      grpc::ClientContext context;
      v1::ListLedgersResponse page;
      const grpc::Status status = ledgers_->ListLedgers(&context, request, &page);
      if (!status.ok()) bench::Die(status.error_message());
      found += page.ledgers_size();
      request.set_page_token(page.next_page_token());
    } while (!request.page_token().empty());
    return found;
  }

 private:
  const server::Log log_;
  LedgerStore* store_ = nullptr;
  std::unique_ptr<server::Server> server_;
  std::unique_ptr<v1::LedgerService::Stub> ledgers_;
};

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
          v1::SamplingEvent& sampling = *request.add_entries()->mutable_event()->mutable_sampling();
          sampling.set_round(batch * 50 + round);
          sampling.mutable_scheme()->mutable_poisson()->set_probability(0.01);
          v1::SumQueryEvent& sum = *request.add_entries()->mutable_event()->mutable_sum_query();
          sum.set_round(batch * 50 + round);
          sum.mutable_query()->set_l2_norm_bound(1);
          sum.mutable_query()->set_noise_stddev(1.1);
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
    BenchServer server(store, /*summaries=*/true);
    while (server.Summarised() < kLedgers) {
      absl::SleepFor(absl::Milliseconds(50));
    }
    report.Add("summarise_10000_s", absl::ToDoubleSeconds(absl::Now() - before), "s");
  }
  // The best of several turns: another's load only takes away.
  double with = 0, without = 0;
  constexpr int kTurns = 5;
  for (int turn = 0; turn < 2 * kTurns; ++turn) {
    const bool summaries = turn % 2 == 0;
    BenchServer server(store, summaries);
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
