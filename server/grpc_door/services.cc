#include "server/grpc_door/services.h"

#include <new>
#include <utility>

namespace dpledger::server {
namespace {

using grpc::ByteBuffer;
using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

// A call whose answer takes no notice of its deadline: it waits for the disk at most.
template <typename Request, typename Response>
auto Plain(LedgerService* service,
           absl::StatusOr<Response> (LedgerService::*method)(const Request&)) {
  return [service, method](const Request& request, const CallContext&) {
    return (service->*method)(request);
  };
}

// A call that ends when its deadline passes or its caller goes.
template <typename Service, typename Request, typename Response>
auto Bounded(Service* service,
             absl::StatusOr<Response> (Service::*method)(const Request&, const CallContext&)) {
  return [service, method](const Request& request, const CallContext& call) {
    return (service->*method)(request, call);
  };
}

}  // namespace

ServerUnaryReactor* LedgerDoor::CreateLedger(CallbackServerContext* context,
                                             const ByteBuffer* request, ByteBuffer* response) {
  return ServeOn<v1::CreateLedgerRequest>(
      *pool_, new UnaryCall(context, request, response, "CreateLedger", environment_),
      Plain(service_, &LedgerService::CreateLedger));
}

ServerUnaryReactor* LedgerDoor::GetLedger(CallbackServerContext* context, const ByteBuffer* request,
                                          ByteBuffer* response) {
  return ServeOn<v1::GetLedgerRequest>(
      *pool_, new UnaryCall(context, request, response, "GetLedger", environment_),
      Plain(service_, &LedgerService::GetLedger));
}

ServerUnaryReactor* LedgerDoor::ListLedgers(CallbackServerContext* context,
                                            const ByteBuffer* request, ByteBuffer* response) {
  return ServeOn<v1::ListLedgersRequest>(
      *pool_, new UnaryCall(context, request, response, "ListLedgers", environment_),
      Plain(service_, &LedgerService::ListLedgers));
}

ServerUnaryReactor* LedgerDoor::ReadEntries(CallbackServerContext* context,
                                            const ByteBuffer* request, ByteBuffer* response) {
  return ServeOn<v1::ReadEntriesRequest>(
      *pool_, new UnaryCall(context, request, response, "ReadEntries", environment_),
      Plain(service_, &LedgerService::ReadEntries));
}

ServerUnaryReactor* LedgerDoor::SealLedger(CallbackServerContext* context,
                                           const ByteBuffer* request, ByteBuffer* response) {
  return ServeOn<v1::SealLedgerRequest>(
      *pool_, new UnaryCall(context, request, response, "SealLedger", environment_),
      Plain(service_, &LedgerService::SealLedger));
}

// On the pool of those who wait for signatures: it may be one of them.
ServerUnaryReactor* LedgerDoor::ForkLedger(CallbackServerContext* context,
                                           const ByteBuffer* request, ByteBuffer* response) {
  return ServeOn<v1::ForkLedgerRequest>(
      *audit_pool_, new UnaryCall(context, request, response, "ForkLedger", environment_),
      Bounded(service_, &LedgerService::ForkLedger));
}

// Not on the pool: a thread that waits for the disk would keep others from joining the same sync.
ServerUnaryReactor* LedgerDoor::AppendBatch(CallbackServerContext* context,
                                            const ByteBuffer* request, ByteBuffer* response) {
  auto* const call = new UnaryCall(context, request, response, "AppendBatch", environment_);
  if (!call->admitted().ok()) {
    call->Answer(call->admitted());
    return call;
  }
  absl::StatusOr<v1::AppendBatchRequest> batch = ParseIfRoom<v1::AppendBatchRequest>(*request);
  if (!batch.ok()) {
    call->Answer(batch.status());
    return call;
  }
  service_->AppendBatch(*std::move(batch), nullptr, [call](absl::StatusOr<v1::Receipt> receipt) {
    if (!receipt.ok()) {
      call->Answer(receipt.status());
      return;
    }
    absl::StatusOr<ByteBuffer> bytes = OutOfMemory();
    try {
      v1::AppendBatchResponse answer;
      *answer.mutable_receipt() = *std::move(receipt);
      bytes = Serialize(answer);
    } catch (const std::bad_alloc&) {
      // It is stored; the caller learns that when it sends the batch again.
    }
    call->Answer(std::move(bytes));
  });
  return call;
}

grpc::ServerBidiReactor<ByteBuffer, ByteBuffer>* LedgerDoor::Append(CallbackServerContext*) {
  return streams_.Open(service_, environment_.gate, append_window_);
}

ServerUnaryReactor* AccountingDoor::ComputeEpsilon(CallbackServerContext* context,
                                                   const ByteBuffer* request,
                                                   ByteBuffer* response) {
  return ServeOn<v1::ComputeEpsilonRequest>(
      *pool_, new UnaryCall(context, request, response, "ComputeEpsilon", environment_),
      Bounded(service_, &AccountingService::ComputeEpsilon));
}

ServerUnaryReactor* AccountingDoor::ComputeDelta(CallbackServerContext* context,
                                                 const ByteBuffer* request, ByteBuffer* response) {
  return ServeOn<v1::ComputeDeltaRequest>(
      *pool_, new UnaryCall(context, request, response, "ComputeDelta", environment_),
      Bounded(service_, &AccountingService::ComputeDelta));
}

ServerUnaryReactor* AccountingDoor::Calibrate(CallbackServerContext* context,
                                              const ByteBuffer* request, ByteBuffer* response) {
  return ServeOn<v1::CalibrateRequest>(
      *pool_, new UnaryCall(context, request, response, "Calibrate", environment_),
      Bounded(service_, &AccountingService::Calibrate));
}

ServerUnaryReactor* AccountingDoor::ComputeTuningCost(CallbackServerContext* context,
                                                      const ByteBuffer* request,
                                                      ByteBuffer* response) {
  return ServeOn<v1::ComputeTuningCostRequest>(
      *pool_, new UnaryCall(context, request, response, "ComputeTuningCost", environment_),
      Bounded(service_, &AccountingService::ComputeTuningCost));
}

ServerUnaryReactor* AccountingDoor::ComputeProfile(CallbackServerContext* context,
                                                   const ByteBuffer* request,
                                                   ByteBuffer* response) {
  return ServeOn<v1::ComputeProfileRequest>(
      *pool_, new UnaryCall(context, request, response, "ComputeProfile", environment_),
      Bounded(service_, &AccountingService::ComputeProfile));
}

ServerUnaryReactor* AccountingDoor::AuditClaim(CallbackServerContext* context,
                                               const ByteBuffer* request, ByteBuffer* response) {
  return ServeOn<v1::AuditClaimRequest>(
      *pool_, new UnaryCall(context, request, response, "AuditClaim", environment_),
      Bounded(service_, &AccountingService::AuditClaim));
}

ServerUnaryReactor* AuditDoor::GetCheckpoint(CallbackServerContext* context,
                                             const ByteBuffer* request, ByteBuffer* response) {
  return ServeOn<v1::GetCheckpointRequest>(
      *pool_, new UnaryCall(context, request, response, "GetCheckpoint", environment_),
      Bounded(service_, &AuditService::GetCheckpoint));
}

ServerUnaryReactor* AuditDoor::GetInclusionProof(CallbackServerContext* context,
                                                 const ByteBuffer* request, ByteBuffer* response) {
  return ServeOn<v1::GetInclusionProofRequest>(
      *pool_, new UnaryCall(context, request, response, "GetInclusionProof", environment_),
      Bounded(service_, &AuditService::GetInclusionProof));
}

ServerUnaryReactor* AuditDoor::GetConsistencyProof(CallbackServerContext* context,
                                                   const ByteBuffer* request,
                                                   ByteBuffer* response) {
  return ServeOn<v1::GetConsistencyProofRequest>(
      *pool_, new UnaryCall(context, request, response, "GetConsistencyProof", environment_),
      Bounded(service_, &AuditService::GetConsistencyProof));
}

ServerUnaryReactor* AuditDoor::GetTile(CallbackServerContext* context, const ByteBuffer* request,
                                       ByteBuffer* response) {
  return ServeOn<v1::GetTileRequest>(
      *pool_, new UnaryCall(context, request, response, "GetTile", environment_),
      Bounded(service_, &AuditService::GetTile));
}

ServerUnaryReactor* AuditDoor::ListRegistrations(CallbackServerContext* context,
                                                 const ByteBuffer* request, ByteBuffer* response) {
  return ServeOn<v1::ListRegistrationsRequest>(
      *pool_, new UnaryCall(context, request, response, "ListRegistrations", environment_),
      Bounded(service_, &AuditService::ListRegistrations));
}

}  // namespace dpledger::server
