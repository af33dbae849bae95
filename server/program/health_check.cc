#include "server/program/health_check.h"

#include <grpcpp/client_context.h>

#include <chrono>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "connection/connection.h"
#include "grpc/health/v1/health.grpc.pb.h"

namespace dpledger::server {

absl::Status CheckServing(const connection::ServerAccess& server) {
  const std::string& address = server.address;
  ASSIGN_OR_RETURN(const std::shared_ptr<grpc::Channel> channel, connection::Connect(server));
  const auto stub = grpc::health::v1::Health::NewStub(channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(3));
  grpc::health::v1::HealthCheckResponse response;
  const grpc::Status status = stub->Check(&context, {}, &response);
  if (!status.ok())
    return absl::UnavailableError(absl::StrCat(address, ": ", status.error_message()));
  if (response.status() != grpc::health::v1::HealthCheckResponse::SERVING) {
    return absl::UnavailableError(
        absl::StrCat(address, ": ",
                     grpc::health::v1::HealthCheckResponse::ServingStatus_Name(response.status())));
  }
  return absl::OkStatus();
}

}  // namespace dpledger::server
