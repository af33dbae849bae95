#include "server/grpc_door/services.h"

#include <utility>

namespace dpledger::server {
namespace {

using grpc::ByteBuffer;
using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

}  // namespace

ServerUnaryReactor* LedgerDoor::CreateLedger(CallbackServerContext* context,
                                             const ByteBuffer* request, ByteBuffer* response) {
  return ServeUnary(*desk_, "/dpledger.v1.LedgerService/CreateLedger", context, request, response);
}

ServerUnaryReactor* LedgerDoor::GetLedger(CallbackServerContext* context, const ByteBuffer* request,
                                          ByteBuffer* response) {
  return ServeUnary(*desk_, "/dpledger.v1.LedgerService/GetLedger", context, request, response);
}

ServerUnaryReactor* LedgerDoor::ListLedgers(CallbackServerContext* context,
                                            const ByteBuffer* request, ByteBuffer* response) {
  return ServeUnary(*desk_, "/dpledger.v1.LedgerService/ListLedgers", context, request, response);
}

ServerUnaryReactor* LedgerDoor::ReadEntries(CallbackServerContext* context,
                                            const ByteBuffer* request, ByteBuffer* response) {
  return ServeUnary(*desk_, "/dpledger.v1.LedgerService/ReadEntries", context, request, response);
}

ServerUnaryReactor* LedgerDoor::SealLedger(CallbackServerContext* context,
                                           const ByteBuffer* request, ByteBuffer* response) {
  return ServeUnary(*desk_, "/dpledger.v1.LedgerService/SealLedger", context, request, response);
}

ServerUnaryReactor* LedgerDoor::ForkLedger(CallbackServerContext* context,
                                           const ByteBuffer* request, ByteBuffer* response) {
  return ServeUnary(*desk_, "/dpledger.v1.LedgerService/ForkLedger", context, request, response);
}

ServerUnaryReactor* LedgerDoor::AppendBatch(CallbackServerContext* context,
                                            const ByteBuffer* request, ByteBuffer* response) {
  return ServeUnary(*desk_, "/dpledger.v1.LedgerService/AppendBatch", context, request, response);
}

grpc::ServerBidiReactor<ByteBuffer, ByteBuffer>* LedgerDoor::Append(
    CallbackServerContext* context) {
  return new BidirectionalReactor(*desk_, *desk_->Find("/dpledger.v1.LedgerService/Append"),
                                  context);
}

ServerUnaryReactor* AccountingDoor::ComputeEpsilon(CallbackServerContext* context,
                                                   const ByteBuffer* request,
                                                   ByteBuffer* response) {
  return ServeUnary(*desk_, "/dpledger.v1.AccountingService/ComputeEpsilon", context, request,
                    response);
}

ServerUnaryReactor* AccountingDoor::ComputeDelta(CallbackServerContext* context,
                                                 const ByteBuffer* request, ByteBuffer* response) {
  return ServeUnary(*desk_, "/dpledger.v1.AccountingService/ComputeDelta", context, request,
                    response);
}

ServerUnaryReactor* AccountingDoor::Calibrate(CallbackServerContext* context,
                                              const ByteBuffer* request, ByteBuffer* response) {
  return ServeUnary(*desk_, "/dpledger.v1.AccountingService/Calibrate", context, request, response);
}

ServerUnaryReactor* AccountingDoor::ComputeTuningCost(CallbackServerContext* context,
                                                      const ByteBuffer* request,
                                                      ByteBuffer* response) {
  return ServeUnary(*desk_, "/dpledger.v1.AccountingService/ComputeTuningCost", context, request,
                    response);
}

ServerUnaryReactor* AccountingDoor::ComputeProfile(CallbackServerContext* context,
                                                   const ByteBuffer* request,
                                                   ByteBuffer* response) {
  return ServeUnary(*desk_, "/dpledger.v1.AccountingService/ComputeProfile", context, request,
                    response);
}

ServerUnaryReactor* AccountingDoor::AuditClaim(CallbackServerContext* context,
                                               const ByteBuffer* request, ByteBuffer* response) {
  return ServeUnary(*desk_, "/dpledger.v1.AccountingService/AuditClaim", context, request,
                    response);
}

ServerUnaryReactor* AuditDoor::GetCheckpoint(CallbackServerContext* context,
                                             const ByteBuffer* request, ByteBuffer* response) {
  return ServeUnary(*desk_, "/dpledger.v1.AuditService/GetCheckpoint", context, request, response);
}

ServerUnaryReactor* AuditDoor::GetInclusionProof(CallbackServerContext* context,
                                                 const ByteBuffer* request, ByteBuffer* response) {
  return ServeUnary(*desk_, "/dpledger.v1.AuditService/GetInclusionProof", context, request,
                    response);
}

ServerUnaryReactor* AuditDoor::GetConsistencyProof(CallbackServerContext* context,
                                                   const ByteBuffer* request,
                                                   ByteBuffer* response) {
  return ServeUnary(*desk_, "/dpledger.v1.AuditService/GetConsistencyProof", context, request,
                    response);
}

ServerUnaryReactor* AuditDoor::GetTile(CallbackServerContext* context, const ByteBuffer* request,
                                       ByteBuffer* response) {
  return ServeUnary(*desk_, "/dpledger.v1.AuditService/GetTile", context, request, response);
}

ServerUnaryReactor* AuditDoor::ListRegistrations(CallbackServerContext* context,
                                                 const ByteBuffer* request, ByteBuffer* response) {
  return ServeUnary(*desk_, "/dpledger.v1.AuditService/ListRegistrations", context, request,
                    response);
}

}  // namespace dpledger::server
