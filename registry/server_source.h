// A registry as its server shows it.
#pragma once

#include <memory>

#include "absl/time/time.h"
#include "connection/server_access.h"
#include "registry/registry_source.h"

namespace dpledger::registry {

// Asks the server over gRPC. Every call must be answered within `patience`; a server that cannot be
// reached is UNAVAILABLE. If `server` cannot be dialled at all (client::Connect), every call says
// why. Not thread safe.
std::unique_ptr<RegistrySource> SourceOfServer(const connection::ServerAccess& server,
                                               absl::Duration patience);

}  // namespace dpledger::registry
