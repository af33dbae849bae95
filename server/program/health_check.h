// Asks a running server for its health, as container platforms do.
#pragma once

#include "absl/status/status.h"
#include "connection/server_access.h"

namespace dpledger::server {

// OK if the server is SERVING. UNAVAILABLE, with the reason, if it is
// not or does not answer within a few seconds.
absl::Status CheckServing(const connection::ServerAccess& server);

}  // namespace dpledger::server
