// The gRPC server: every method of the desk's table, and limits. It listens nowhere: the front
// (front/front.h) gives it connections that have been accepted and whose TLS has ended.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/desk/desk.h"
#include "server/questions/accounting_service.h"

namespace dpledger::server {

struct GrpcDoorOptions {
  int max_message_bytes = 4 << 20;
  int max_streams = 256;  // calls at once on one connection
  // A connection of this age is asked to come again; its calls have a minute to end.
  absl::Duration max_connection_age = absl::InfiniteDuration();
  // A unary answer that its client has not taken after this long is dropped with its call.
  absl::Duration takes_answer_within = absl::Seconds(60);
};

class GrpcDoor {
 public:
  // `desk` must outlive the door.
  static absl::StatusOr<std::unique_ptr<GrpcDoor>> Open(const GrpcDoorOptions& options, Desk* desk);
  ~GrpcDoor();  // closes at once

  // Serves a connected stream socket, and owns it from here on. Thread safe.
  void Take(int descriptor);

  // A channel to the door from this process, over no socket. Its calls come as those of a peer
  // "inproc". Must be gone before Close.
  std::shared_ptr<grpc::Channel> InProcess();

  // Cancels what is left: calls past the deadline of Desk::Close, and those that only watch.
  void Close();

 private:
  // Serves every method from the desk's table. gRPC keeps 20 KB of every call of a registered unary
  // method that is reset before its message is here, for ever; of a generic one, nothing.
  class Service : public grpc::CallbackGenericService {
   public:
    Service(const GrpcDoorOptions& options, Desk* desk) : options_(options), desk_(*desk) {}
    grpc::ServerGenericBidiReactor* CreateReactor(
        grpc::GenericCallbackServerContext* context) override;

   private:
    const GrpcDoorOptions options_;
    Desk& desk_;
  };

  GrpcDoor(const GrpcDoorOptions& options, Desk* desk) : service_(options, desk) {}

  Service service_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace dpledger::server
