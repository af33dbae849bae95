// The services' gRPC side. A method names its row of the desk's table; unary.h and stream.h do the
// rest.
#pragma once

#include "dpledger/v1/accounting_service.grpc.pb.h"
#include "dpledger/v1/audit_service.grpc.pb.h"
#include "dpledger/v1/ledger_service.grpc.pb.h"
#include "server/desk/desk.h"
#include "server/grpc_door/stream.h"
#include "server/grpc_door/unary.h"

namespace dpledger::server {

class LedgerDoor : public v1::LedgerService::WithRawCallbackMethod_CreateLedger<
                       v1::LedgerService::WithRawCallbackMethod_GetLedger<
                           v1::LedgerService::WithRawCallbackMethod_ListLedgers<
                               v1::LedgerService::WithRawCallbackMethod_AppendBatch<
                                   v1::LedgerService::WithRawCallbackMethod_Append<
                                       v1::LedgerService::WithRawCallbackMethod_ReadEntries<
                                           v1::LedgerService::WithRawCallbackMethod_SealLedger<
                                               v1::LedgerService::WithRawCallbackMethod_ForkLedger<
                                                   v1::LedgerService::Service>>>>>>>> {
 public:
  explicit LedgerDoor(Desk* desk) : desk_(desk) {}

  grpc::ServerUnaryReactor* CreateLedger(grpc::CallbackServerContext* context,
                                         const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* GetLedger(grpc::CallbackServerContext* context,
                                      const grpc::ByteBuffer* request,
                                      grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* ListLedgers(grpc::CallbackServerContext* context,
                                        const grpc::ByteBuffer* request,
                                        grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* AppendBatch(grpc::CallbackServerContext* context,
                                        const grpc::ByteBuffer* request,
                                        grpc::ByteBuffer* response) override;
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Append(
      grpc::CallbackServerContext* context) override;
  grpc::ServerUnaryReactor* ReadEntries(grpc::CallbackServerContext* context,
                                        const grpc::ByteBuffer* request,
                                        grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* SealLedger(grpc::CallbackServerContext* context,
                                       const grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* ForkLedger(grpc::CallbackServerContext* context,
                                       const grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* response) override;

 private:
  Desk* const desk_;
};

class AccountingDoor : public v1::AccountingService::WithRawCallbackMethod_ComputeEpsilon<
                           v1::AccountingService::WithRawCallbackMethod_ComputeDelta<
                               v1::AccountingService::WithRawCallbackMethod_Calibrate<
                                   v1::AccountingService::WithRawCallbackMethod_ComputeTuningCost<
                                       v1::AccountingService::WithRawCallbackMethod_ComputeProfile<
                                           v1::AccountingService::WithRawCallbackMethod_AuditClaim<
                                               v1::AccountingService::Service>>>>>> {
 public:
  explicit AccountingDoor(Desk* desk) : desk_(desk) {}

  grpc::ServerUnaryReactor* ComputeEpsilon(grpc::CallbackServerContext* context,
                                           const grpc::ByteBuffer* request,
                                           grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* ComputeDelta(grpc::CallbackServerContext* context,
                                         const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Calibrate(grpc::CallbackServerContext* context,
                                      const grpc::ByteBuffer* request,
                                      grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* ComputeTuningCost(grpc::CallbackServerContext* context,
                                              const grpc::ByteBuffer* request,
                                              grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* ComputeProfile(grpc::CallbackServerContext* context,
                                           const grpc::ByteBuffer* request,
                                           grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* AuditClaim(grpc::CallbackServerContext* context,
                                       const grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* response) override;

 private:
  Desk* const desk_;
};

class AuditDoor : public v1::AuditService::WithRawCallbackMethod_GetCheckpoint<
                      v1::AuditService::WithRawCallbackMethod_GetInclusionProof<
                          v1::AuditService::WithRawCallbackMethod_GetConsistencyProof<
                              v1::AuditService::WithRawCallbackMethod_GetTile<
                                  v1::AuditService::WithRawCallbackMethod_ListRegistrations<
                                      v1::AuditService::Service>>>>> {
 public:
  explicit AuditDoor(Desk* desk) : desk_(desk) {}

  grpc::ServerUnaryReactor* GetCheckpoint(grpc::CallbackServerContext* context,
                                          const grpc::ByteBuffer* request,
                                          grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* GetInclusionProof(grpc::CallbackServerContext* context,
                                              const grpc::ByteBuffer* request,
                                              grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* GetConsistencyProof(grpc::CallbackServerContext* context,
                                                const grpc::ByteBuffer* request,
                                                grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* GetTile(grpc::CallbackServerContext* context,
                                    const grpc::ByteBuffer* request,
                                    grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* ListRegistrations(grpc::CallbackServerContext* context,
                                              const grpc::ByteBuffer* request,
                                              grpc::ByteBuffer* response) override;

 private:
  Desk* const desk_;
};

}  // namespace dpledger::server
