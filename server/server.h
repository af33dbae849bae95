// The whole server as one object: a store, the services over it, and the gRPC door in front.
//
// Closing goes from the outside in: first nobody comes in, then what is inside is answered, then
// the store is closed. Thread safe, except that Stop is called once.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "ledger_store/store.h"
#include "server/accounting_service.h"
#include "server/grpc_door/grpc_door.h"
#include "server/ledger_service.h"
#include "server/log.h"

namespace dpledger::server {

struct ServerOptions {
  GrpcDoorOptions door;
  AccountingLimits accounting;
};

class Server {
 public:
  // Serves when it returns. `log` must outlive the server.
  static absl::StatusOr<std::unique_ptr<Server>> Start(const ServerOptions& options,
                                                       std::unique_ptr<LedgerStore> store,
                                                       const Log* log);
  ~Server();  // stops at once

  int port() const { return door_->port(); }

  // Whether the store is healthy. If not, health says NOT_SERVING from now on; it will not recover.
  bool CheckHealth();

  // Drains (GrpcDoor::Close) and closes the store.
  void Stop(absl::Time deadline);

 private:
  Server(const ServerOptions& options, std::unique_ptr<LedgerStore> store);

  std::unique_ptr<LedgerStore> store_;
  LedgerService ledgers_;
  AccountingService accounting_;
  std::unique_ptr<GrpcDoor> door_;
};

}  // namespace dpledger::server
