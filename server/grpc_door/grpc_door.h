// The gRPC server: every method of the desk's table, and limits. There is no TLS and no
// authentication: see flags.cc for the addresses that this allows.
#pragma once

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/accounting_service.h"
#include "server/audit_service.h"
#include "server/desk/desk.h"

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

  // Cancels what is left: calls past the deadline of Desk::Close, and those that only watch.
  void Close();

 private:
  // Serves every method from the desk's table. gRPC keeps 20 KB of every call of a registered unary
  // method that is reset before its message is here, for ever; of a generic one, nothing.
  class Service : public grpc::CallbackGenericService {
   public:
    explicit Service(Desk* desk) : desk_(*desk) {}
    grpc::ServerGenericBidiReactor* CreateReactor(
        grpc::GenericCallbackServerContext* context) override;

   private:
    Desk& desk_;
  };

  explicit GrpcDoor(Desk* desk) : service_(desk) {}

  Service service_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
};

}  // namespace dpledger::server
