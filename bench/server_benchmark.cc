// How many events a second the whole server takes over Append streams, and how many ε questions it
// answers, both over gRPC on loopback with the embedded store in this folder.
//
//   server_benchmark [--seconds S]
//
// Appends: 1, 8 and 64 streams, each with a ledger of its own and 100 events a message, never
// waiting for an acknowledgement while the server gives credit. Client and server share the
// machine, as they share this process. Questions: four callers ask for ε of a ledger of 10,000
// rounds by the default method, as fast as they are answered. Prints one JSON object.
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <atomic>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "bench/local_server.h"
#include "bench/program.h"
#include "dpledger/v1/accounting_service.grpc.pb.h"
#include "dpledger/v1/ledger_service.grpc.pb.h"

namespace dpledger {
namespace {

constexpr int kEventsPerMessage = 100;
constexpr int kStreamCounts[] = {1, 8, 64};
constexpr int kCallers = 4;
// Unacknowledged batches of one stream: half of the server's window, so that it never has to stop
// reading.
constexpr uint64_t kWindow = 16;

using bench::Die;

void Check(const grpc::Status& status) {
  if (!status.ok()) Die(status.error_message());
}

// Every stream and caller has a connection of its own, as trainers do.
std::shared_ptr<grpc::Channel> Connect(int port) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(absl::StrCat("127.0.0.1:", port),
                                   grpc::InsecureChannelCredentials(), arguments);
}

void CreateLedger(int port, const std::string& name) {
  v1::CreateLedgerRequest request;
  request.set_name(name);
  request.set_request_id("create");
  request.mutable_declaration()->set_dataset("bench");
  request.mutable_declaration()->set_unit_of_privacy("example");
  request.mutable_declaration()->set_adjacency(v1::ADD_OR_REMOVE_ONE);
  request.mutable_declaration()->set_parameters(v1::FIXED);
  grpc::ClientContext context;
  v1::Ledger ledger;
  Check(v1::LedgerService::NewStub(Connect(port))->CreateLedger(&context, request, &ledger));
}

// The events of a trainer's rounds: a sampling event and a sum query each.
v1::AppendRequest FirstMessage(const std::string& ledger) {
  v1::AppendRequest request;
  v1::AppendBatchRequest& batch = *request.mutable_batch();
  batch.set_ledger(ledger);
  batch.set_writer("trainer");
  for (int i = 0; i < kEventsPerMessage / 2; ++i) {
    batch.add_entries()
        ->mutable_event()
        ->mutable_sampling()
        ->mutable_scheme()
        ->mutable_poisson()
        ->set_probability(0.01);
    v1::SumQuery& query =
        *batch.add_entries()->mutable_event()->mutable_sum_query()->mutable_query();
    query.set_group("weights");
    query.set_l2_norm_bound(1);
    query.set_noise_stddev(1.1);
  }
  for (v1::NewEntry& entry : *batch.mutable_entries())
    entry.mutable_claimed_time()->set_seconds(1'700'000'040);
  return request;
}

void Number(uint64_t message, v1::AppendRequest& request) {
  v1::AppendBatchRequest& batch = *request.mutable_batch();
  batch.set_request_id(absl::StrFormat("01234567-89ab-cdef-0123-%012x", message));
  uint64_t round = message * kEventsPerMessage / 2;
  for (int i = 0; i < batch.entries_size(); i += 2, ++round) {
    batch.mutable_entries(i)->mutable_event()->mutable_sampling()->set_round(round);
    batch.mutable_entries(i + 1)->mutable_event()->mutable_sum_query()->set_round(round);
  }
}

// Appends to `ledger` until it is over; the number of batches acknowledged.
uint64_t Append(int port, const std::string& ledger, const std::atomic<bool>& over) {
  const auto stub = v1::LedgerService::NewStub(Connect(port));
  grpc::ClientContext context;
  const auto stream = stub->Append(&context);
  v1::AppendRequest request = FirstMessage(ledger);
  v1::AppendResponse response;
  uint64_t sent = 0;
  while (!over) {
    if (sent - response.acknowledged_batches() >= kWindow && !stream->Read(&response)) break;
    Number(sent++, request);
    if (!stream->Write(request)) break;
  }
  stream->WritesDone();
  while (stream->Read(&response)) {
  }
  Check(stream->Finish());
  return response.acknowledged_batches();
}

double EventsPerSecond(int port, int streams, double seconds) {
  std::vector<std::string> ledgers;
  for (int i = 0; i < streams; ++i) {
    ledgers.push_back(absl::StrCat("projects/bench/ledgers/s", streams, "-", i));
    CreateLedger(port, ledgers.back());
  }
  std::atomic<bool> over = false;
  std::atomic<uint64_t> batches = 0;
  std::vector<std::thread> threads;
  const absl::Time start = absl::Now();
  for (const std::string& ledger : ledgers) {
    threads.emplace_back([&] { batches += Append(port, ledger, over); });
  }
  absl::SleepFor(absl::Seconds(seconds));
  over = true;
  for (std::thread& thread : threads) thread.join();
  return static_cast<double>(batches * kEventsPerMessage) /
         absl::ToDoubleSeconds(absl::Now() - start);
}

double QuestionsPerSecond(int port, double seconds) {
  const std::string ledger = "projects/bench/ledgers/questions";
  CreateLedger(port, ledger);
  v1::AppendRequest rounds;
  rounds.mutable_batch()->set_ledger(ledger);
  rounds.mutable_batch()->set_writer("trainer");
  rounds.mutable_batch()->set_request_id("rounds");
  v1::RoundsEvent& event =
      *rounds.mutable_batch()->add_entries()->mutable_event()->mutable_rounds();
  event.mutable_scheme()->mutable_poisson()->set_probability(0.01);
  event.add_queries()->set_l2_norm_bound(1);
  event.mutable_queries(0)->set_noise_stddev(1);
  event.set_count(10'000);
  grpc::ClientContext context;
  v1::AppendBatchResponse unused;
  Check(v1::LedgerService::NewStub(Connect(port))->AppendBatch(&context, rounds.batch(), &unused));

  std::atomic<bool> over = false;
  std::atomic<uint64_t> answers = 0;
  std::vector<std::thread> threads;
  const absl::Time start = absl::Now();
  for (int i = 0; i < kCallers; ++i) {
    threads.emplace_back([&] {
      const auto stub = v1::AccountingService::NewStub(Connect(port));
      v1::ComputeEpsilonRequest request;
      request.set_delta(1e-5);
      request.mutable_subject()->add_ledgers(ledger);
      while (!over) {
        grpc::ClientContext call;
        v1::ComputeEpsilonResponse response;
        Check(stub->ComputeEpsilon(&call, request, &response));
        ++answers;
      }
    });
  }
  absl::SleepFor(absl::Seconds(seconds));
  over = true;
  for (std::thread& thread : threads) thread.join();
  return static_cast<double>(answers) / absl::ToDoubleSeconds(absl::Now() - start);
}

std::string Line(const std::string& name, double value) {
  return absl::StrFormat("  \"%s\": {\"value\": %.6g, \"unit\": \"1/s\"}", name, value);
}

int Run(int argc, char** argv) {
  const double seconds = bench::Seconds(argc, argv);
  const bench::ScratchFolder folder;
  const bench::LocalServer server(folder.path() + "/store");

  const double share = seconds / 4;
  std::vector<std::string> lines;
  for (const int streams : kStreamCounts) {
    lines.push_back(Line(absl::StrCat("server/append_", streams, "_streams_events_per_s"),
                         EventsPerSecond(server.port(), streams, share)));
  }
  lines.push_back(
      Line("accounting/epsilon_queries_per_s", QuestionsPerSecond(server.port(), share)));
  std::printf("{\n%s,\n%s,\n%s,\n%s\n}\n", lines[0].c_str(), lines[1].c_str(), lines[2].c_str(),
              lines[3].c_str());
  return 0;
}

}  // namespace
}  // namespace dpledger

int main(int argc, char** argv) { return dpledger::Run(argc, argv); }
