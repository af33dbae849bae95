// The gRPC server: all services, health, reflection, and limits.
//
// Health: "" and each service are SERVING until SetServing(false), SetReady(false) or Close.
// Reflection lists the services, so that tools such as grpcurl need no .proto files. There is no
// TLS and no authentication: see flags.cc for the addresses that this allows.
#pragma once

#include <grpcpp/server.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/accounting_service.h"
#include "server/audit_service.h"
#include "server/desk/call_gate.h"
#include "server/grpc_door/services.h"
#include "server/ledger_service.h"
#include "server/log.h"
#include "server/worker_pool.h"

namespace dpledger::server {

struct GrpcDoorOptions {
  std::string address = "127.0.0.1:7070";  // port 0 picks one
  int max_message_bytes = 4 << 20;
  int max_streams = 256;      // calls at once on one connection
  size_t append_window = 32;  // unacknowledged batches of one Append stream
  size_t query_threads =
      2;  // accounting runs on threads of its own, so that it cannot starve appends
  size_t max_queued_queries = 64;
};

// The services. They must outlive the door.
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
  // Whether the server as a whole is ready, and can prove what it has: "" and AuditService. The
  // other services' health stays as it is.
  void SetReady(bool ready);

  // Health says NOT_SERVING, and no new call is admitted. Append streams end after acknowledging
  // what they have read. Other calls run until `deadline`; then the rest are cancelled. Returns
  // when no call is left.
  void Close(absl::Time deadline);

 private:
  GrpcDoor(const GrpcDoorOptions& options, const Services& services, const Log* log);

  CallGate gate_;
  // Order of destruction: the server first, so that no call comes in; the pools last, because they
  // hold the server's calls.
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
