#include "server/grpc_door/services.h"

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

template <typename Request, typename Response>
auto Bounded(AccountingService* service,
             absl::StatusOr<Response> (AccountingService::*method)(const Request&,
                                                                   const CallContext&)) {
  return [service, method](const Request& request, const CallContext& call) {
    return (service->*method)(request, call);
  };
}

}  // namespace

ServerUnaryReactor* LedgerDoor::CreateLedger(CallbackServerContext* context,
                                             const ByteBuffer* request, ByteBuffer* response) {
  return ServeOn<v1::CreateLedgerRequest>(*pool_,
                                          {context, request, response, "CreateLedger", log_},
                                          Plain(service_, &LedgerService::CreateLedger));
}

ServerUnaryReactor* LedgerDoor::GetLedger(CallbackServerContext* context, const ByteBuffer* request,
                                          ByteBuffer* response) {
  return ServeOn<v1::GetLedgerRequest>(*pool_, {context, request, response, "GetLedger", log_},
                                       Plain(service_, &LedgerService::GetLedger));
}

ServerUnaryReactor* LedgerDoor::ListLedgers(CallbackServerContext* context,
                                            const ByteBuffer* request, ByteBuffer* response) {
  return ServeOn<v1::ListLedgersRequest>(*pool_, {context, request, response, "ListLedgers", log_},
                                         Plain(service_, &LedgerService::ListLedgers));
}

ServerUnaryReactor* LedgerDoor::ReadEntries(CallbackServerContext* context,
                                            const ByteBuffer* request, ByteBuffer* response) {
  return ServeOn<v1::ReadEntriesRequest>(*pool_, {context, request, response, "ReadEntries", log_},
                                         Plain(service_, &LedgerService::ReadEntries));
}

ServerUnaryReactor* LedgerDoor::SealLedger(CallbackServerContext* context,
                                           const ByteBuffer* request, ByteBuffer* response) {
  return ServeOn<v1::SealLedgerRequest>(*pool_, {context, request, response, "SealLedger", log_},
                                        Plain(service_, &LedgerService::SealLedger));
}

// Not on the pool: a thread that waits for the disk would keep others from joining the same sync.
ServerUnaryReactor* LedgerDoor::AppendBatch(CallbackServerContext* context,
                                            const ByteBuffer* request, ByteBuffer* response) {
  const UnaryCall call{context, request, response, "AppendBatch", log_};
  absl::StatusOr<v1::AppendBatchRequest> batch = Parse<v1::AppendBatchRequest>(*request);
  if (!batch.ok()) {
    call.Finish(batch.status());
    return call.reactor;
  }
  service_->AppendBatch(*std::move(batch), nullptr, [call](absl::StatusOr<v1::Receipt> receipt) {
    if (!receipt.ok()) {
      call.Finish(receipt.status());
      return;
    }
    v1::AppendBatchResponse answer;
    *answer.mutable_receipt() = *std::move(receipt);
    call.Finish(Serialize(answer));
  });
  return call.reactor;
}

grpc::ServerBidiReactor<ByteBuffer, ByteBuffer>* LedgerDoor::Append(CallbackServerContext*) {
  return streams_.Open(service_, append_window_);
}

ServerUnaryReactor* AccountingDoor::ComputeEpsilon(CallbackServerContext* context,
                                                   const ByteBuffer* request,
                                                   ByteBuffer* response) {
  return ServeOn<v1::ComputeEpsilonRequest>(*pool_,
                                            {context, request, response, "ComputeEpsilon", log_},
                                            Bounded(service_, &AccountingService::ComputeEpsilon));
}

ServerUnaryReactor* AccountingDoor::ComputeDelta(CallbackServerContext* context,
                                                 const ByteBuffer* request, ByteBuffer* response) {
  return ServeOn<v1::ComputeDeltaRequest>(*pool_,
                                          {context, request, response, "ComputeDelta", log_},
                                          Bounded(service_, &AccountingService::ComputeDelta));
}

ServerUnaryReactor* AccountingDoor::Calibrate(CallbackServerContext* context,
                                              const ByteBuffer* request, ByteBuffer* response) {
  return ServeOn<v1::CalibrateRequest>(*pool_, {context, request, response, "Calibrate", log_},
                                       Bounded(service_, &AccountingService::Calibrate));
}

ServerUnaryReactor* AccountingDoor::ComputeTuningCost(CallbackServerContext* context,
                                                      const ByteBuffer* request,
                                                      ByteBuffer* response) {
  return ServeOn<v1::ComputeTuningCostRequest>(
      *pool_, {context, request, response, "ComputeTuningCost", log_},
      Bounded(service_, &AccountingService::ComputeTuningCost));
}

}  // namespace dpledger::server
