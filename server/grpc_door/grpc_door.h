// The gRPC server: all services, health, reflection, and its limits.
//
// Health: "" and each service are SERVING until SetServing(false) or Close. Reflection lists the
// services, so that tools such as grpcurl need no .proto files. There is no TLS and no
// authentication here yet: see flags.cc for what that means for the address.
#pragma once

#include <grpcpp/server.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/accounting_service.h"
#include "server/audit_service.h"
#include "server/grpc_door/call_gate.h"
#include "server/grpc_door/services.h"
#include "server/ledger_service.h"
#include "server/log.h"
#include "server/worker_pool.h"

namespace dpledger::server {

struct GrpcDoorOptions {
  std::string address = "127.0.0.1:7070";  // port 0 picks one
  int max_message_bytes = 4 << 20;
  int max_streams = 256;      // calls at once on one connection
  size_t append_window = 32;  // batches of one Append stream read and not yet acknowledged
  size_t query_threads = 2;   // accounting runs on these, so that appends are not starved
  size_t max_queued_queries = 64;
};

// What is served; all of it outlives the door.
struct Services {
  LedgerService* ledgers;
  AccountingService* accounting;
  AuditService* audit;
};

class GrpcDoor {
 public:
  // `log` must outlive the door. UNAVAILABLE if the address cannot be listened on.
  static absl::StatusOr<std::unique_ptr<GrpcDoor>> Open(const GrpcDoorOptions& options,
                                                        const Services& services, const Log* log);
  ~GrpcDoor();  // closes at once

  int port() const { return port_; }
  void SetServing(bool serving);

  // Health says NOT_SERVING, no new call is taken, Append streams end after what they have read is
  // acknowledged, and other calls run until `deadline`, when those that are left are cancelled.
  // Returns when none is left.
  void Close(absl::Time deadline);

 private:
  GrpcDoor(const GrpcDoorOptions& options, const Services& services, const Log* log);

  CallGate gate_;
  // Pools last to go: they hold calls of the server. Server first: nothing comes in any more.
  WorkerPool store_pool_;
  WorkerPool query_pool_;
  WorkerPool audit_pool_;
  LedgerDoor ledger_door_;
  AccountingDoor accounting_door_;
  AuditDoor audit_door_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
};

}  // namespace dpledger::server
