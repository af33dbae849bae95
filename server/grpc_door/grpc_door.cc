#include "server/grpc_door/grpc_door.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include <chrono>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace dpledger::server {
namespace {

// Calls that wait for the disk or read it; a few, so that one slow read does not stop the others.
constexpr size_t kStoreThreads = 4;
constexpr size_t kMaxQueuedStoreCalls = 1024;
// Proofs, and calls that wait for a signature; apart, so that nobody else waits with them.
constexpr size_t kAuditThreads = 4;

// What gRPC itself may buffer over all connections, before it pushes back.
constexpr size_t kTransportBytes = size_t{512} << 20;

// A peer that has gone without a word is noticed after a minute or so, and its streams are given
// up.
constexpr int kKeepaliveMilliseconds = 60'000;
constexpr int kKeepaliveTimeoutMilliseconds = 20'000;
// Clients may ask as often as this, calls or none; gRPC's default of 5 minutes hangs up on careful
// trainers.
constexpr int kMinPingIntervalMilliseconds = 10'000;

void SetLimits(const GrpcDoorOptions& options, grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(options.max_message_bytes);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, options.max_streams);
  builder.SetResourceQuota(grpc::ResourceQuota("dpledger").Resize(kTransportBytes));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMilliseconds);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMilliseconds);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             kMinPingIntervalMilliseconds);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  // Else a second server could listen on the same port and get half of the calls.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
}

}  // namespace

GrpcDoor::GrpcDoor(const GrpcDoorOptions& options, const Services& services, const Log* log)
    : store_pool_("store", kStoreThreads, kMaxQueuedStoreCalls),
      query_pool_("accounting", options.query_threads, options.max_queued_queries),
      audit_pool_("audit", kAuditThreads, kMaxQueuedStoreCalls),
      ledger_door_(services.ledgers, &store_pool_, &audit_pool_, options.append_window,
                   {&gate_, log}),
      accounting_door_(services.accounting, &query_pool_, {&gate_, log}),
      audit_door_(services.audit, &audit_pool_, {&gate_, log}) {}

GrpcDoor::~GrpcDoor() { Close(absl::InfinitePast()); }

absl::StatusOr<std::unique_ptr<GrpcDoor>> GrpcDoor::Open(const GrpcDoorOptions& options,
                                                         const Services& services, const Log* log) {
  // Both are process-wide in gRPC, and take effect for servers built from now on.
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();

  std::unique_ptr<GrpcDoor> door(new GrpcDoor(options, services, log));
  grpc::ServerBuilder builder;
  SetLimits(options, builder);
  builder.AddListeningPort(options.address, grpc::InsecureServerCredentials(), &door->port_);
  builder.RegisterService(&door->ledger_door_);
  builder.RegisterService(&door->accounting_door_);
  builder.RegisterService(&door->audit_door_);
  door->server_ = builder.BuildAndStart();
  if (door->server_ == nullptr || door->port_ == 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot listen on ", options.address, ": is another server running there?"));
  }
  door->SetServing(true);
  return door;
}

void GrpcDoor::SetServing(bool serving) {
  grpc::HealthCheckServiceInterface* const health = server_->GetHealthCheckService();
  for (const char* service :
       {v1::LedgerService::service_full_name(), v1::AccountingService::service_full_name(),
        v1::AuditService::service_full_name()}) {
    health->SetServingStatus(service, serving);
  }
  health->SetServingStatus("", serving);
}

void GrpcDoor::SetReady(bool ready) {
  grpc::HealthCheckServiceInterface* const health = server_->GetHealthCheckService();
  health->SetServingStatus(v1::AuditService::service_full_name(), ready);
  health->SetServingStatus("", ready);
}

void GrpcDoor::Close(absl::Time deadline) {
  if (server_ == nullptr) return;
  SetServing(false);
  gate_.Close();
  ledger_door_.Drain();
  gate_.AwaitEmpty(deadline);
  // Cancels what is left: calls past the deadline, and those that only watch.
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
  server_.reset();
}

}  // namespace dpledger::server
