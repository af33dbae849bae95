#include "client/connection.h"

#include <string>

#include "base/status.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/support/channel_arguments.h"

namespace dpledger::client {
namespace {

// The server ends a page of entries at about 1 MiB; one entry and its neighbours cannot pass this.
constexpr int kMaxReceivedBytes = 16 << 20;
constexpr int kMaxSentBytes = 4 << 20;  // what the server accepts by default
// Servers drop clients that ping more often than every five minutes on a quiet connection.
constexpr int kKeepaliveMilliseconds = 6 * 60 * 1000;
constexpr int kKeepaliveTimeoutMilliseconds = 20 * 1000;
// gRPC would wait up to two minutes between attempts; a trainer that fails closed stands still
// meanwhile.
constexpr int kFirstReconnectMilliseconds = 100;
constexpr int kMaxReconnectMilliseconds = 2 * 1000;

ErrorReason ReasonFromDetails(const std::string& details) {
  google::rpc::Status status;
  if (details.empty() || !status.ParseFromString(details)) return {};
  for (const auto& detail : status.details()) {
    google::rpc::ErrorInfo info;
    if (!detail.UnpackTo(&info)) continue;
    return {info.reason(), {info.metadata().begin(), info.metadata().end()}};
  }
  return {};
}

}  // namespace

std::shared_ptr<grpc::Channel> Connect(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxReceivedBytes);
  arguments.SetMaxSendMessageSize(kMaxSentBytes);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMilliseconds);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMilliseconds);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kFirstReconnectMilliseconds);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kMaxReconnectMilliseconds);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  const absl::Status plain(static_cast<absl::StatusCode>(status.error_code()),
                           status.error_message());
  const ErrorReason reason = ReasonFromDetails(status.error_details());
  return reason.reason.empty() ? plain : WithReason(plain, reason);
}

}  // namespace dpledger::client
