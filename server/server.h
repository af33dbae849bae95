// The whole server as one object: a store, the notary that signs it, the services over both, and
// the gRPC door in front. It serves a store only after the notary has found it whole and signed it.
//
// Closing goes from the outside in: first nobody comes in, then what is inside is answered, then
// the store is closed. Thread safe, except that Stop is called once.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "ledger_store/store.h"
#include "server/accounting_service.h"
#include "server/audit_service.h"
#include "server/grpc_door/grpc_door.h"
#include "server/ledger_service.h"
#include "server/log.h"
#include "server/signing.h"
#include "server/signing_loop.h"

namespace dpledger::server {

struct ServerOptions {
  GrpcDoorOptions door;
  SigningOptions signing;
  AccountingLimits accounting;
};

class Server {
 public:
  // Serves when it returns. `log` must outlive the server. Errors of OpenNotary and GrpcDoor::Open.
  static absl::StatusOr<std::unique_ptr<Server>> Start(const ServerOptions& options,
                                                       std::unique_ptr<LedgerStore> store,
                                                       const Log* log);
  ~Server();  // stops at once

  int port() const { return door_->port(); }

  // OK while the store is healthy and its notary signs. If not, health says NOT_SERVING from now
  // on, and it will not recover.
  absl::Status CheckHealth();

  // Drains (GrpcDoor::Close) and closes the store.
  void Stop(absl::Time deadline);

 private:
  Server(const ServerOptions& options, std::unique_ptr<LedgerStore> store,
         std::unique_ptr<Notary> notary, const Log* log);

  std::unique_ptr<LedgerStore> store_;
  std::unique_ptr<Notary> notary_;
  std::unique_ptr<SigningLoop> signing_;
  LedgerService ledgers_;
  AccountingService accounting_;
  AuditService audit_;
  std::unique_ptr<GrpcDoor> door_;
};

}  // namespace dpledger::server
