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
#include "server/desk/desk.h"
#include "server/grpc_door/services.h"

namespace dpledger::server {

struct GrpcDoorOptions {
  std::string address = "127.0.0.1:7070";  // port 0 picks one
  int max_message_bytes = 4 << 20;
  int max_streams = 256;  // calls at once on one connection
};

class GrpcDoor {
 public:
  // `desk` must outlive the door. UNAVAILABLE if the address cannot be listened on.
  static absl::StatusOr<std::unique_ptr<GrpcDoor>> Open(const GrpcDoorOptions& options, Desk* desk);
  ~GrpcDoor();  // closes at once

  int port() const { return port_; }
  void SetServing(bool serving);
  // Whether the server as a whole is ready, and can prove what it has: "" and AuditService. The
  // other services' health stays as it is.
  void SetReady(bool ready);

  // Cancels what is left: calls past the deadline of Desk::Close, and those that only watch.
  void Close();

 private:
  explicit GrpcDoor(Desk* desk);

  LedgerDoor ledger_door_;
  AccountingDoor accounting_door_;
  AuditDoor audit_door_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
};

}  // namespace dpledger::server
