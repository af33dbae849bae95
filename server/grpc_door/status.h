// Converts this project's errors to gRPC's.
#pragma once

#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace dpledger::server {

// The code, the message, and as details WithErrorInfo (events/wire_errors.h); RESOURCE_EXHAUSTED
// without details if there is no memory for them.
grpc::Status ToGrpc(const absl::Status& status);

}  // namespace dpledger::server
