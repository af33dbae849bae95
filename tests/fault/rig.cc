#include "tests/fault/rig.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/spool.h"
#include "connection/connection.h"
#include "dpledger/v1/accounting_service.grpc.pb.h"

namespace dpledger::testing {
namespace {

EpsilonInterval Ask(const std::string& server, const v1::ComputeEpsilonRequest& request) {
  const auto stub = v1::AccountingService::NewStub(connection::Connect(server).value());
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  v1::ComputeEpsilonResponse response;
  const grpc::Status status = stub->ComputeEpsilon(&context, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return {response.epsilon().lower(), response.epsilon().upper()};
}

constexpr double kDelta = 1e-5;

}  // namespace

Trainer::Trainer(std::string server, std::string ledger, std::string writer, v1::SpoolPolicy policy,
                 std::vector<std::string> prefix)
    : server_(std::move(server)),
      ledger_(std::move(ledger)),
      writer_(std::move(writer)),
      policy_(policy),
      prefix_(std::move(prefix)),
      spool_folder_(folder_.File("spool")) {}

Trainer::~Trainer() {
  if (pid_ > 0) Kill();
}

void Trainer::Start(uint64_t rounds, const std::vector<std::string>& extras) {
  std::vector<std::string> arguments = prefix_;
  for (const std::string& word :
       {BinaryPath("fault_trainer"), server_, ledger_, writer_, spool_folder_,
        std::string(policy_ == v1::SPOOL ? "spool" : "fail-closed"), folder_.File("released"),
        absl::StrCat(rounds)}) {
    arguments.push_back(word);
  }
  arguments.insert(arguments.end(), extras.begin(), extras.end());
  pid_ = StartProgram(arguments, folder_.File("log"));
}

void Trainer::Kill() {
  EXPECT_EQ(StopProgram(pid_, SIGKILL), 128 + SIGKILL) << "the trainer had ended: " << Log();
  pid_ = 0;
}

void Trainer::Crash() {
  StopProgram(pid_, SIGKILL);
  pid_ = 0;
}

int Trainer::Await() { return AwaitProgram(std::exchange(pid_, 0)); }

int Trainer::Finish() {
  const int exit_code = StopProgram(pid_, SIGTERM);
  pid_ = 0;
  return exit_code;
}

bool Trainer::AwaitReleases(size_t before, size_t more) {
  const absl::Time late = absl::Now() + absl::Minutes(2);
  int status = 0;
  while (waitpid(pid_, &status, WNOHANG) == 0) {
    if (Released().size() >= before + more) return true;
    if (absl::Now() > late) throw std::runtime_error("the trainer releases nothing: " + Log());
    absl::SleepFor(absl::Milliseconds(5));
  }
  pid_ = 0;
  return false;
}

Rounds Trainer::Spooled() const {
  const auto spool =
      client::Spool::Open({.folder = spool_folder_, .ledger = ledger_, .writer = writer_});
  EXPECT_TRUE(spool.ok()) << spool.status();
  if (!spool.ok()) return {};
  std::vector<v1::AppendBatchRequest> batches;
  const client::Spool::State state = (*spool)->state();
  for (uint64_t position = state.acknowledged; position < state.end; ++position) {
    const auto batch = (*spool)->Read(position);
    EXPECT_TRUE(batch.ok()) << batch.status();
    if (batch.ok()) batches.push_back(*batch);
  }
  return BatchRounds(batches);
}

std::string Trainer::Log() const {
  std::ostringstream log;
  log << std::ifstream(folder_.File("log")).rdbuf();
  return log.str();
}

EpsilonInterval EpsilonOfLedger(const std::string& server, const std::string& ledger) {
  v1::ComputeEpsilonRequest request;
  request.mutable_subject()->add_ledgers(ledger);
  request.set_delta(kDelta);
  return Ask(server, request);
}

EpsilonInterval EpsilonOfRounds(const std::string& server, const Rounds& rounds) {
  v1::ComputeEpsilonRequest request;
  for (const auto& [round, noise] : rounds) {
    v1::SamplingEvent& sampling = *request.mutable_subject()->add_events()->mutable_sampling();
    sampling.set_round(round);
    sampling.mutable_scheme()->mutable_poisson()->set_probability(kSamplingProbability);
    v1::SumQueryEvent& query = *request.mutable_subject()->add_events()->mutable_sum_query();
    query.set_round(round);
    query.mutable_query()->set_l2_norm_bound(1);
    query.mutable_query()->set_noise_stddev(noise);
  }
  request.set_delta(kDelta);
  return Ask(server, request);
}

}  // namespace dpledger::testing
