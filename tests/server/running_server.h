// A real server for tests: an embedded store in a folder of its own, the gRPC door on a free
// loopback port, and a real channel to it.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "dpledger/v1/accounting_service.grpc.pb.h"
#include "dpledger/v1/audit_service.grpc.pb.h"
#include "dpledger/v1/ledger_service.grpc.pb.h"
#include "google/rpc/error_details.pb.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "server/server.h"
#include "tests/ledger_store/requests.h"
#include "tests/ledger_store/temp_folder.h"
#include "tests/server/watched_store.h"

namespace dpledger::server {

class RunningServer {
 public:
  // Signs when somebody waits for it only, unless told otherwise.
  explicit RunningServer(const ServerOptions& options = SigningOnDemand());
  static ServerOptions SigningOnDemand() {
    ServerOptions options;
    options.signing.every = absl::InfiniteDuration();
    options.summaries = false;  // nothing reads in the background
    return options;
  }

  // Ends it, and starts another on the same store.
  void Restart();

  Server& server() { return *server_; }
  StoreWatch& store() { return watch_; }
  LedgerStore& ledger_store() { return *store_; }
  TestClock& clock() { return clock_; }
  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }
  std::shared_ptr<grpc::Channel> NewChannel() const;  // a connection of its own
  v1::LedgerService::Stub& ledgers() { return *ledgers_; }
  v1::AccountingService::Stub& accounting() { return *accounting_; }
  v1::AuditService::Stub& audit() { return *audit_; }

  // Calls that must work.
  v1::Ledger Create(const std::string& name,
                    const std::function<void(v1::Declaration&)>& declare = nullptr);
  v1::Ledger Get(const std::string& name);
  v1::Receipt Append(const v1::AppendBatchRequest& batch);
  grpc::health::v1::HealthCheckResponse::ServingStatus Health(const std::string& service);

 private:
  void Open();

  const ServerOptions options_;
  TempFolder folder_;
  TestClock clock_;
  StoreWatch watch_;
  Log log_{LogLevel::kError, 2};
  LedgerStore* store_ = nullptr;  // the server's
  std::unique_ptr<Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::LedgerService::Stub> ledgers_;
  std::unique_ptr<v1::AccountingService::Stub> accounting_;
  std::unique_ptr<v1::AuditService::Stub> audit_;
};

// Calls a unary method, with a deadline against hanging tests.
template <typename Stub, typename Request, typename Response>
grpc::Status Call(Stub& stub,
                  grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                  const Request& request, Response* response = nullptr) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
  Response unused;
  return (stub.*method)(&context, request, response != nullptr ? response : &unused);
}

// The ErrorInfo of an error, which comes first; empty if it has none.
google::rpc::ErrorInfo ErrorInfoOf(const grpc::Status& status);

using dpledger::IsError;  // the same for absl::Status
// The code, ErrorInfo's reason (domain "dpledger"), and the part of the message that a user needs.
::testing::AssertionResult IsError(const grpc::Status& status, grpc::StatusCode code,
                                   const std::string& reason, const std::string& message);
// INVALID_ARGUMENT, reason INVALID_FIELD, "<field>: ...rule...".
::testing::AssertionResult IsFieldError(const grpc::Status& status, const std::string& field,
                                        const std::string& rule);
::testing::AssertionResult IsOk(const grpc::Status& status);

}  // namespace dpledger::server
