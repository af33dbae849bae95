// The services' gRPC side. A method names its pool and its service's method; unary.h and
// append_stream.h do the rest.
#pragma once

#include "dpledger/v1/accounting_service.grpc.pb.h"
#include "dpledger/v1/audit_service.grpc.pb.h"
#include "dpledger/v1/ledger_service.grpc.pb.h"
#include "server/accounting_service.h"
#include "server/audit_service.h"
#include "server/grpc_door/append_stream.h"
#include "server/grpc_door/unary.h"
#include "server/ledger_service.h"
#include "server/worker_pool.h"

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
  // `append_window`: the most unacknowledged batches of one stream. Calls that wait for the disk
  // run on `pool`, calls that may wait for a signature on `audit_pool`.
  LedgerDoor(LedgerService* service, WorkerPool* pool, WorkerPool* audit_pool, size_t append_window,
             const DoorEnvironment& environment)
      : service_(service),
        pool_(pool),
        audit_pool_(audit_pool),
        append_window_(append_window),
        environment_(environment) {}

  void Drain() { streams_.Drain(); }

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
  LedgerService* const service_;
  WorkerPool* const pool_;
  WorkerPool* const audit_pool_;
  const size_t append_window_;
  const DoorEnvironment environment_;
  AppendStreams streams_;
};

class AccountingDoor : public v1::AccountingService::WithRawCallbackMethod_ComputeEpsilon<
                           v1::AccountingService::WithRawCallbackMethod_ComputeDelta<
                               v1::AccountingService::WithRawCallbackMethod_Calibrate<
                                   v1::AccountingService::WithRawCallbackMethod_ComputeTuningCost<
                                       v1::AccountingService::WithRawCallbackMethod_ComputeProfile<
                                           v1::AccountingService::WithRawCallbackMethod_AuditClaim<
                                               v1::AccountingService::Service>>>>>> {
 public:
  AccountingDoor(AccountingService* service, WorkerPool* pool, const DoorEnvironment& environment)
      : service_(service), pool_(pool), environment_(environment) {}

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
  AccountingService* const service_;
  WorkerPool* const pool_;
  const DoorEnvironment environment_;
};

class AuditDoor : public v1::AuditService::WithRawCallbackMethod_GetCheckpoint<
                      v1::AuditService::WithRawCallbackMethod_GetInclusionProof<
                          v1::AuditService::WithRawCallbackMethod_GetConsistencyProof<
                              v1::AuditService::WithRawCallbackMethod_GetTile<
                                  v1::AuditService::WithRawCallbackMethod_ListRegistrations<
                                      v1::AuditService::Service>>>>> {
 public:
  AuditDoor(AuditService* service, WorkerPool* pool, const DoorEnvironment& environment)
      : service_(service), pool_(pool), environment_(environment) {}

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
  AuditService* const service_;
  WorkerPool* const pool_;
  const DoorEnvironment environment_;
};

}  // namespace dpledger::server
