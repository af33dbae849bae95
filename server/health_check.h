// Asks a running server for its health, as container platforms do.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace dpledger::server {

// OK if the server at `address` ("host:port") is SERVING. UNAVAILABLE, with the reason, if it is
// not or does not answer within a few seconds.
absl::Status CheckServing(const std::string& address);

}  // namespace dpledger::server
