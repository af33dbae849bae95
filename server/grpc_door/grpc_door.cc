#include "server/grpc_door/grpc_door.h"

#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include <chrono>

#include "server/grpc_door/calls.h"

namespace dpledger::server {
namespace {

// What gRPC itself may buffer over all connections, before it pushes back.
constexpr size_t kTransportBytes = size_t{512} << 20;

// A peer that has gone without a word is noticed after a minute or so, and its streams are given
// up.
constexpr int kKeepaliveMilliseconds = 60'000;
constexpr int kKeepaliveTimeoutMilliseconds = 20'000;
// Clients may ask as often as this, calls or none; gRPC's default of 5 minutes hangs up on careful
// trainers.
constexpr int kMinPingIntervalMilliseconds = 10'000;

// A connection without calls is given up for others; clients dial again by themselves.
constexpr int kIdleMilliseconds = 5 * 60'000;
constexpr int kAgeGraceMilliseconds = 60'000;

void SetLimits(const GrpcDoorOptions& options, grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(options.max_message_bytes);
  // gRPC 1.51 inflates a message before it looks at its size, and before anybody knows who sends
  // it: 4 MB become 5 GB. Clients are told that messages come as they are.
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, options.max_streams);
  // What a stream may send unasked stays 64 KB. With this gRPC lets each of a fast connection send
  // megabytes, those too whose message nobody reads yet.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  builder.SetResourceQuota(grpc::ResourceQuota("dpledger").Resize(kTransportBytes));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMilliseconds);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMilliseconds);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             kMinPingIntervalMilliseconds);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kIdleMilliseconds);
  if (options.max_connection_age == absl::InfiniteDuration()) return;
  builder.AddChannelArgument(
      GRPC_ARG_MAX_CONNECTION_AGE_MS,
      static_cast<int>(absl::ToInt64Milliseconds(options.max_connection_age)));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, kAgeGraceMilliseconds);
}

}  // namespace

grpc::ServerGenericBidiReactor* GrpcDoor::Service::CreateReactor(
    grpc::GenericCallbackServerContext* context) {
  const Method* const method = desk_.Find(context->method());
  if (method == nullptr) return new UnknownCall(desk_, context);
  switch (method->kind) {
    case CallKind::kUnary:
      return new UnaryReactor(desk_, *method, context, options_.takes_answer_within);
    case CallKind::kServerStream:
      return new ServerStreamReactor(desk_, *method, context);
    case CallKind::kBidirectional:
      return new BidirectionalReactor(desk_, *method, context);
  }
  return new UnknownCall(desk_, context);
}

GrpcDoor::~GrpcDoor() { Close(); }

absl::StatusOr<std::unique_ptr<GrpcDoor>> GrpcDoor::Open(const GrpcDoorOptions& options,
                                                         Desk* desk) {
  // Process-wide in gRPC. The desk answers for health; gRPC's own service would keep the memory of
  // every Check that is reset.
  grpc::EnableDefaultHealthCheckService(false);

  std::unique_ptr<GrpcDoor> door(new GrpcDoor(options, desk));
  grpc::ServerBuilder builder;
  SetLimits(options, builder);
  using Acceptor = grpc::ServerBuilder::experimental_type::ExternalConnectionType;
  door->acceptor_ = builder.experimental().AddExternalConnectionAcceptor(
      Acceptor::FROM_FD, grpc::InsecureServerCredentials());
  builder.RegisterCallbackGenericService(&door->service_);
  door->server_ = builder.BuildAndStart();
  if (door->server_ == nullptr) return absl::InternalError("gRPC's server does not start");
  return door;
}

void GrpcDoor::Take(int descriptor) {
  grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
  connection.listener_fd = -1;
  connection.fd = descriptor;
  acceptor_->HandleNewConnection(&connection);
}

std::shared_ptr<grpc::Channel> GrpcDoor::InProcess() {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);  // what this process sends itself is the desk's to bound
  return server_->InProcessChannel(arguments);
}

void GrpcDoor::Close() {
  if (server_ == nullptr) return;
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
  server_.reset();
}

}  // namespace dpledger::server
