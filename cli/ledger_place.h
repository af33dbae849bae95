// Where the ledgers are that a command reads: on a server; or at rest, in a recorder's folder, in
// that of a server's store, or in bundles. At rest nothing is written, and no server is needed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "connection/server_access.h"
#include "flags/app.h"
#include "grpcpp/channel.h"
#include "local/local_ledgers.h"

namespace dpledger::cli {

struct LedgerPlace {
  connection::ServerAccess server;
  std::vector<std::string> stores;

  void AddTo(flags::App& app);
  bool AtRest() const { return !stores.empty(); }
  bool IsGiven() const { return AtRest() || !server.address.empty(); }
  // Throws flags::ValidationError if a server and a store are given, or if there is neither.
  void Check() const;
};

// AddTo for a command that does nothing without one.
void AddRequiredPlace(flags::App& app, LedgerPlace& place);

// Where a command writes: to a server, or into the folder of a recorder's ledgers.
struct WritePlace {
  connection::ServerAccess server;
  std::string folder;
  bool makes = false;  // the folder, if there is none

  // Throws flags::ValidationError if both are given, or neither.
  void AddTo(flags::App& app);
};
// A channel to the ledgers in the folder. NOT_FOUND if there is none, and none is made; errors of
// local::OpenLedgers, which name --store.
absl::StatusOr<std::shared_ptr<grpc::Channel>> OpenToWrite(const WritePlace& place);

// Precondition: place.AtRest(). With `costs`, lists show what each ledger costs. Errors of
// local::OpenToRead, which name --store.
absl::StatusOr<local::Reading> OpenAtRest(const LedgerPlace& place, bool costs);

}  // namespace dpledger::cli
