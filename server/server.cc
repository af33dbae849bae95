#include "server/server.h"

#include <utility>

#include "base/status.h"

namespace dpledger::server {

Server::Server(const ServerOptions& options, std::unique_ptr<LedgerStore> store)
    : store_(std::move(store)),
      ledgers_(store_.get()),
      accounting_(store_.get(), options.accounting) {}

Server::~Server() { Stop(absl::InfinitePast()); }

absl::StatusOr<std::unique_ptr<Server>> Server::Start(const ServerOptions& options,
                                                      std::unique_ptr<LedgerStore> store,
                                                      const Log* log) {
  std::unique_ptr<Server> server(new Server(options, std::move(store)));
  ASSIGN_OR_RETURN(server->door_,
                   GrpcDoor::Open(options.door, &server->ledgers_, &server->accounting_, log));
  return server;
}

bool Server::CheckHealth() {
  if (store_->Healthy()) return true;
  door_->SetServing(false);
  return false;
}

void Server::Stop(absl::Time deadline) {
  if (door_ != nullptr) door_->Close(deadline);
  store_.reset();
}

}  // namespace dpledger::server
