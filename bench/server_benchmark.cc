// How many events a second the whole server takes over Append streams, and how many ε questions it
// answers, both over gRPC on loopback with the embedded store in this folder.
//
//   server_benchmark [--seconds S]
//
// Appends: 1, 8 and 64 streams, each with a ledger of its own and 100 events a message, never
// waiting for an acknowledgement while the server gives credit, measured from when all are
// connected; 64 streams over TLS and with a token too, in turns with 64 in plain text, and their
// ratio. Client and server share the machine, as they share this process. Questions: four callers
// ask for ε of a ledger of 10,000 rounds by the default method, as fast as they are answered.
// Prints one JSON object.
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <atomic>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/barrier.h"
#include "absl/time/clock.h"
#include "base/file.h"
#include "bench/local_server.h"
#include "bench/new_ledger.h"
#include "bench/program.h"
#include "dpledger/v1/accounting_service.grpc.pb.h"
#include "dpledger/v1/ledger_service.grpc.pb.h"
#include "tests/front/certificates.h"

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

// A server, and how its clients reach it.
struct Target {
  int port = 0;
  std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();
};

// Every stream and caller has a connection of its own, as trainers do.
std::shared_ptr<grpc::Channel> Connect(const Target& target) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(absl::StrCat("localhost:", target.port), target.credentials,
                                   arguments);
}

void CreateLedger(const Target& target, const std::string& name) {
  grpc::ClientContext context;
  v1::Ledger ledger;
  Check(v1::LedgerService::NewStub(Connect(target))
            ->CreateLedger(&context, bench::NewLedger(name), &ledger));
}

// The events of a trainer's rounds: a sampling event and a sum query each.
v1::AppendRequest FirstMessage(const std::string& ledger) {
  v1::AppendRequest request;
  v1::AppendBatchRequest& batch = *request.mutable_batch();
  batch.set_ledger(ledger);
  batch.set_writer("trainer");
  for (int i = 0; i < kEventsPerMessage / 2; ++i) bench::AddRound(0, 0.01, 1.1, batch);
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

// Appends to `ledger` until it is over; the number of batches acknowledged since all others were
// ready too.
uint64_t Append(const Target& target, const std::string& ledger, absl::Barrier* all_ready,
                const std::atomic<bool>& over) {
  const auto stub = v1::LedgerService::NewStub(Connect(target));
  grpc::ClientContext context;
  const auto stream = stub->Append(&context);
  v1::AppendRequest request = FirstMessage(ledger);
  v1::AppendResponse response;
  uint64_t sent = 0;
  // The first batch pays for connecting, which TLS makes dearer and trainers do once.
  Number(sent++, request);
  stream->Write(request);
  while (response.acknowledged_batches() == 0 && stream->Read(&response)) {
  }
  if (all_ready->Block()) delete all_ready;
  while (!over) {
    if (sent - response.acknowledged_batches() >= kWindow && !stream->Read(&response)) break;
    Number(sent++, request);
    if (!stream->Write(request)) break;
  }
  stream->WritesDone();
  while (stream->Read(&response)) {
  }
  Check(stream->Finish());
  return response.acknowledged_batches() - 1;
}

double EventsPerSecond(const Target& target, const std::string& name, int streams, double seconds) {
  std::vector<std::string> ledgers;
  for (int i = 0; i < streams; ++i) {
    ledgers.push_back(absl::StrCat("projects/bench/ledgers/", name, "-", i));
    CreateLedger(target, ledgers.back());
  }
  std::atomic<bool> over = false;
  std::atomic<uint64_t> batches = 0;
  std::vector<std::thread> threads;
  auto* const all_ready = new absl::Barrier(streams + 1);
  for (const std::string& ledger : ledgers) {
    threads.emplace_back([&] { batches += Append(target, ledger, all_ready, over); });
  }
  if (all_ready->Block()) delete all_ready;
  const absl::Time start = absl::Now();
  absl::SleepFor(absl::Seconds(seconds));
  over = true;
  for (std::thread& thread : threads) thread.join();
  return static_cast<double>(batches * kEventsPerMessage) /
         absl::ToDoubleSeconds(absl::Now() - start);
}

// A ledger to ask about, and its question.
v1::ComputeEpsilonRequest MakeQuestion(const Target& target) {
  const std::string ledger = "projects/bench/ledgers/questions";
  CreateLedger(target, ledger);
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
  Check(
      v1::LedgerService::NewStub(Connect(target))->AppendBatch(&context, rounds.batch(), &unused));

  v1::ComputeEpsilonRequest question;
  question.set_delta(1e-5);
  question.mutable_subject()->add_ledgers(ledger);
  return question;
}

// Of kCallers at once.
double QuestionsPerSecond(const Target& target, double seconds) {
  const v1::ComputeEpsilonRequest question = MakeQuestion(target);
  std::atomic<bool> over = false;
  std::atomic<uint64_t> answers = 0;
  std::vector<std::thread> threads;
  const absl::Time start = absl::Now();
  for (int i = 0; i < kCallers; ++i) {
    threads.emplace_back([&] {
      const auto stub = v1::AccountingService::NewStub(Connect(target));
      for (; !over; ++answers) {
        grpc::ClientContext call;
        v1::ComputeEpsilonResponse response;
        Check(stub->ComputeEpsilon(&call, question, &response));
      }
    });
  }
  absl::SleepFor(absl::Seconds(seconds));
  over = true;
  for (std::thread& thread : threads) thread.join();
  return static_cast<double>(answers) / absl::ToDoubleSeconds(absl::Now() - start);
}

// A server with TLS that knows its callers, and what its first administrator's clients bring.
class SecureServer {
 public:
  explicit SecureServer(const std::string& folder)
      : authority_("bench"), server_(folder + "/store", Options(folder)) {
    const std::string token = ReadFile(folder + "/tokens.first-admin").value();
    target_.port = server_.port();
    target_.credentials = grpc::CompositeChannelCredentials(
        grpc::SslCredentials({authority_.certificate(), "", ""}),
        grpc::AccessTokenCredentials(std::string(absl::StripAsciiWhitespace(token))));
  }
  const Target& target() const { return target_; }

 private:
  server::ServerOptions Options(const std::string& folder) const {
    const Credential credential = authority_.Issue("DNS:localhost");
    server::ServerOptions options;
    options.front.tls.certificate = folder + "/server.pem";
    options.front.tls.key = folder + "/server.key";
    std::ofstream(options.front.tls.certificate) << credential.certificate;
    std::ofstream(options.front.tls.key) << credential.key;
    options.identity.on = true;
    options.identity.token_file = folder + "/tokens";
    options.identity.first_token_file = folder + "/tokens.first-admin";
    return options;
  }

  const TestAuthority authority_;
  const bench::LocalServer server_;
  Target target_;
};

// The same streams in plain text to one server, and over TLS with a token to another, in turns.
void AppendSecurely(const Target& plain, const Target& secure, double seconds,
                    bench::Report& report) {
  constexpr int kTurns = 4;
  constexpr int kStreams = 64;
  double without = 0, with = 0;
  for (int turn = 0; turn < kTurns; ++turn) {
    const std::string name = absl::StrCat("turn", turn);
    const double share = seconds / (2 * kTurns);
    without += EventsPerSecond(plain, name, kStreams, share) / kTurns;
    with += EventsPerSecond(secure, name, kStreams, share) / kTurns;
  }
  report.Add("server/append_64_streams_tls_events_per_s", with, "1/s", without);
}

int Run(int argc, char** argv) {
  const double seconds = bench::Seconds(argc, argv);
  const bench::ScratchFolder folder;
  const bench::LocalServer server(folder.path() + "/store");

  const bench::ScratchFolder secure_folder;
  const SecureServer secure(secure_folder.path());

  const double share = seconds / 5;
  bench::Report report;
  for (const int streams : kStreamCounts) {
    report.Add(absl::StrCat("server/append_", streams, "_streams_events_per_s"),
               EventsPerSecond({server.port()}, absl::StrCat("s", streams), streams, share), "1/s");
  }
  AppendSecurely({server.port()}, secure.target(), share, report);
  report.Add("accounting/epsilon_queries_per_s", QuestionsPerSecond({server.port()}, share), "1/s");
  return 0;
}

}  // namespace
}  // namespace dpledger

int main(int argc, char** argv) { return dpledger::Run(argc, argv); }
