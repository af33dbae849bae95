// An operation in a server that is killed: the next one goes on with it.
#include <gtest/gtest.h>
#include <signal.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "connection/connection.h"
#include "dpledger/v1/ledger_service.grpc.pb.h"
#include "dpledger/v1/recompute_service.grpc.pb.h"
#include "tests/cli/process.h"
#include "tests/events/field_rules.h"
#include "tests/server/recompute_cases.h"

namespace dpledger::server {
namespace {

using accountant::FromText;

constexpr int kLedgers = 150;

class KilledServer : public ::testing::Test {
 protected:
  KilledServer() { Start(); }
  ~KilledServer() override {
    if (pid_ > 0) dpledger::testing::StopProgram(pid_, SIGKILL);
  }
  void Start() {
    const std::string port = folder_.File("port"), log = folder_.File("log");
    unlink(port.c_str());
    pid_ = dpledger::testing::StartProgram(
        {dpledger::testing::BinaryPath("dpledger-server"), "--listen", "127.0.0.1:0", "--port-file",
         port, "--store", folder_.File("store")},
        log);
    connection::ServerAccess access;
    access.address = dpledger::testing::AwaitFirstLine(pid_, port, log);
    channel_ = *connection::Connect(access);
    recompute_ = v1::RecomputeService::NewStub(channel_);
    ledgers_ = v1::LedgerService::NewStub(channel_);
  }
  void Kill() {
    dpledger::testing::StopProgram(pid_, SIGKILL);
    pid_ = 0;
  }
  v1::Operation Get(const std::string& name) {
    grpc::ClientContext context;
    v1::GetOperationRequest request;
    request.set_name(name);
    v1::Operation operation;
    EXPECT_TRUE(recompute_->GetOperation(&context, request, &operation).ok());
    return operation;
  }
  template <typename Stub, typename Method, typename Request, typename Response>
  void MustCall(Stub& stub, Method method, const Request& request, Response* response) {
    grpc::ClientContext context;
    const grpc::Status status = (stub.*method)(&context, request, response);
    ASSERT_TRUE(status.ok()) << status.error_message();
  }

  dpledger::testing::TemporaryFolder folder_;
  pid_t pid_ = 0;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::RecomputeService::Stub> recompute_;
  std::unique_ptr<v1::LedgerService::Stub> ledgers_;
};

TEST_F(KilledServer, LeavesAnOperationThatTheNextOneEnds) {
  for (int i = 0; i < kLedgers; ++i) {
    v1::Ledger ledger;
    MustCall(*ledgers_, &v1::LedgerService::Stub::CreateLedger, CreateRequest(NameOf(i)), &ledger);
    v1::AppendBatchRequest batch = Batch(NameOf(i), "w", "r");
    *batch.add_entries()->mutable_event() =
        FromText<v1::Event>(absl::StrCat("rounds { scheme { poisson { probability: 0.01 } } "
                                         "queries { l2_norm_bound: 1 noise_stddev: 1 } count: ",
                                         1000 + i, " }"));
    v1::AppendBatchResponse appended;
    MustCall(*ledgers_, &v1::LedgerService::Stub::AppendBatch, batch, &appended);
  }
  v1::Operation operation;
  // A slow method, so that there is time to kill it.
  MustCall(*recompute_, &v1::RecomputeService::Stub::StartRecompute,
           FromText<v1::StartRecomputeRequest>(
               "request_id: 'a' parent: 'projects/p' options { method: PLD }"),
           &operation);
  const std::string name = operation.name();
  while (operation.done() == 0) operation = Get(name);
  ASSERT_LT(operation.done(), kLedgers) << "it was too fast to be killed";
  const uint64_t before = operation.done();
  Kill();

  Start();
  while (operation.state() == v1::Operation::RUNNING) {
    operation = Get(name);
    EXPECT_GE(operation.done(), before);
  }
  EXPECT_EQ(operation.state(), v1::Operation::DONE);
  EXPECT_EQ(operation.done(), kLedgers);
  EXPECT_EQ(operation.refused(), 0);
  v1::ListRecomputedRequest list;
  list.set_name(name);
  list.set_page_size(1000);
  v1::ListRecomputedResponse results;
  MustCall(*recompute_, &v1::RecomputeService::Stub::ListRecomputed, list, &results);
  ASSERT_EQ(results.results_size(), kLedgers);
  for (int i = 0; i < kLedgers; ++i) EXPECT_EQ(results.results(i).now().ledger(), NameOf(i));
}

}  // namespace
}  // namespace dpledger::server
