#include "tests/server/running_server.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <stdexcept>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "google/rpc/status.pb.h"
#include "ledger_store/embedded/embedded_store.h"

namespace dpledger::server {

RunningServer::RunningServer(const ServerOptions& options) : options_(options) { Open(); }

void RunningServer::Restart() {
  server_.reset();
  Open();
}

void RunningServer::Open() {
  const std::string folder = folder_.path() + "/store";
  auto store = OpenEmbeddedStore({.folder = folder, .clock = &clock_});
  if (!store.ok()) throw std::runtime_error(store.status().ToString());
  ServerOptions used = options_;
  used.front.address = "127.0.0.1:0";
  const SigningOptions beside = SigningOptions::Beside(folder);
  used.signing.key_file = beside.key_file;
  used.signing.checkpoint_file = beside.checkpoint_file;
  auto watched = std::make_unique<WatchedStore>(*std::move(store), &watch_);
  store_ = watched.get();
  auto server = Server::Start(used, std::move(watched), &log_);
  if (!server.ok()) throw std::runtime_error(server.status().ToString());
  server_ = *std::move(server);
  channel_ = NewChannel();
  ledgers_ = v1::LedgerService::NewStub(channel_);
  accounting_ = v1::AccountingService::NewStub(channel_);
  audit_ = v1::AuditService::NewStub(channel_);
}

v1::Ledger RunningServer::Create(const std::string& name,
                                 const std::function<void(v1::Declaration&)>& declare) {
  v1::CreateLedgerRequest request = CreateRequest(name);
  if (declare) declare(*request.mutable_declaration());
  v1::Ledger ledger;
  EXPECT_TRUE(IsOk(Call(*ledgers_, &v1::LedgerService::Stub::CreateLedger, request, &ledger)));
  return ledger;
}

v1::Ledger RunningServer::Get(const std::string& name) {
  v1::GetLedgerRequest request;
  request.set_name(name);
  v1::Ledger ledger;
  EXPECT_TRUE(IsOk(Call(*ledgers_, &v1::LedgerService::Stub::GetLedger, request, &ledger)));
  return ledger;
}

v1::Receipt RunningServer::Append(const v1::AppendBatchRequest& batch) {
  v1::AppendBatchResponse response;
  EXPECT_TRUE(IsOk(Call(*ledgers_, &v1::LedgerService::Stub::AppendBatch, batch, &response)));
  return response.receipt();
}

grpc::health::v1::HealthCheckResponse::ServingStatus RunningServer::Health(
    const std::string& service) {
  const auto health = grpc::health::v1::Health::NewStub(channel_);
  grpc::health::v1::HealthCheckRequest request;
  request.set_service(service);
  grpc::health::v1::HealthCheckResponse response;
  EXPECT_TRUE(IsOk(Call(*health, &grpc::health::v1::Health::Stub::Check, request, &response)));
  return response.status();
}

std::shared_ptr<grpc::Channel> RunningServer::NewChannel() const {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of this test's own
  return grpc::CreateCustomChannel(absl::StrCat("127.0.0.1:", server_->port()),
                                   grpc::InsecureChannelCredentials(), arguments);
}

google::rpc::ErrorInfo ErrorInfoOf(const grpc::Status& status) {
  google::rpc::Status details;
  google::rpc::ErrorInfo info;
  if (!details.ParseFromString(status.error_details()) || details.details_size() < 1 ||
      details.code() != status.error_code() || details.message() != status.error_message() ||
      !details.details(0).UnpackTo(&info)) {
    return {};
  }
  return info;
}

::testing::AssertionResult IsError(const grpc::Status& status, grpc::StatusCode code,
                                   const std::string& reason, const std::string& message) {
  const google::rpc::ErrorInfo info = ErrorInfoOf(status);
  if (status.error_code() == code && info.domain() == "dpledger" && info.reason() == reason &&
      absl::StrContains(status.error_message(), message)) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure()
         << "got code " << status.error_code() << ", \"" << status.error_message()
         << "\", ErrorInfo {" << info.ShortDebugString() << "}";
}

::testing::AssertionResult IsFieldError(const grpc::Status& status, const std::string& field,
                                        const std::string& rule) {
  const auto metadata = ErrorInfoOf(status).metadata();
  const auto named = metadata.find("field");
  if (named == metadata.end() || named->second != field) {
    return ::testing::AssertionFailure()
           << "names the field " << (named == metadata.end() ? "(none)" : named->second) << " in \""
           << status.error_message() << "\", code " << status.error_code();
  }
  const ::testing::AssertionResult result = IsError(status, grpc::StatusCode::INVALID_ARGUMENT,
                                                    "INVALID_FIELD", absl::StrCat(field, ": "));
  return result ? IsError(status, grpc::StatusCode::INVALID_ARGUMENT, "INVALID_FIELD", rule)
                : result;
}

::testing::AssertionResult IsOk(const grpc::Status& status) {
  if (status.ok()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << "code " << status.error_code() << ": " << status.error_message();
}

}  // namespace dpledger::server
